/** The folder `.segno/` at the repository's top level: what people write and read. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../store/atomic.js";

export const segnoFolder = (top: string): string => join(top, ".segno");

/** Makes `.segno/` with its own .gitignore: nothing in it is ever committed but what the user adds by force. */
export function prepareSegnoFolder(top: string): void {
  const folder = segnoFolder(top);
  mkdirSync(folder, { recursive: true });
  const ignore = join(folder, ".gitignore");
  if (!existsSync(ignore))
    writeWhole(
      ignore,
      "# Written by Segno: runs stay here; the configuration may be committed.\n*\n!config.yaml\n!prompts/\n!prompts/*\n",
    );
}

/** Sorts by time, and is short enough to type. */
export function newRunId(now: Date): string {
  const stamp = now.toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}
