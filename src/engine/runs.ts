/** The folder `.segno/` at the repository's top level: configuration and runs. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { journalPath } from "../store/file.js";

export const segnoFolder = (top: string): string => join(top, ".segno");
export const runFolder = (top: string, run: string): string => join(segnoFolder(top), "runs", run);

/** Makes `.segno/` with its own .gitignore: nothing in it is ever committed but what the user adds by force. */
export function prepareSegnoFolder(top: string): void {
  const folder = segnoFolder(top);
  mkdirSync(join(folder, "runs"), { recursive: true });
  const ignore = join(folder, ".gitignore");
  if (!existsSync(ignore))
    writeFileSync(
      ignore,
      "# Written by Segno: runs stay here; the configuration may be committed.\n*\n!config.yaml\n!prompts/\n!prompts/*\n",
    );
}

/** Sorts by time, and is short enough to type. */
export function newRunId(now: Date): string {
  const stamp = now.toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}

/** Run ids, newest first. */
export function listRuns(top: string): string[] {
  const folder = join(segnoFolder(top), "runs");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => existsSync(journalPath(join(folder, name))))
    .sort()
    .reverse();
}
