/** What an agent that was ended in the middle of writing a file left beside it. */
import { lstatSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Git } from "./git.js";

/** Removes those of the files, which are in no commit, that are called as the agent calls its drafts and came since then. */
export function removeDrafts(
  git: Git,
  untracked: readonly string[],
  isDraft: (name: string) => boolean,
  since: string,
): string[] {
  const drafts = untracked.filter((path) => {
    const found = isDraft(basename(path)) ? lstatSync(join(git.top, path), { throwIfNoEntry: false }) : undefined;
    return found?.isFile() === true && found.mtimeMs >= Date.parse(since);
  });
  for (const path of drafts) rmSync(join(git.top, path), { force: true });
  return drafts;
}
