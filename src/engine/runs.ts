/** The folder `.segno/` at the repository's top level: what people write and read. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../store/atomic.js";

export const segnoFolder = (top: string): string => join(top, ".segno");

const IGNORE =
  "# Written by Segno: the configuration may be committed, the rest is this machine's.\n*\n!config.yaml\n!team.yaml\n!prompts/\n!prompts/*\n";

const NOTE = `Here is what people write and read: the configuration (config.yaml), prompt texts of your own (prompts/), and
what a phase that could not go on leaves (HANDOFF.md). The runs themselves, with their journals, are in the folder
segno/ of the git directory (git rev-parse --git-common-dir): no git clean reaches them there.
`;

/** Makes `.segno/` with its own .gitignore, and a note that says where the rest is. */
export function prepareSegnoFolder(top: string): void {
  const folder = segnoFolder(top);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of [
    [".gitignore", IGNORE],
    ["README.txt", NOTE],
  ] as const)
    if (!existsSync(join(folder, name))) writeWhole(join(folder, name), text);
}

/** What people wrote in one checkout is there in another of the same repository, too. */
export function shareSegnoFolder(top: string, checkout: string): void {
  prepareSegnoFolder(top);
  // Where the configuration is committed, the folder is there already.
  if (!existsSync(segnoFolder(checkout))) symlinkSync(segnoFolder(top), segnoFolder(checkout));
}

/** Sorts by time, and is short enough to type. */
export function newRunId(now: Date): string {
  const stamp = now.toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}
