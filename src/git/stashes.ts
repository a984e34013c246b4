/** Stashes that were made while a phase worked: what is in them is in no commit. Segno never touches one. */
import type { Git } from "./git.js";
import { hasStash } from "./signs.js";

export interface Stash {
  /** As git calls it now: `stash@{0}`. */
  name: string;
  sha: string;
}

/** Newest first. `others`: branches that are checked out elsewhere; what was stashed there is not this checkout's. */
export async function stashesSince(git: Git, since: string, others: ReadonlySet<string>): Promise<Stash[]> {
  if (!hasStash(git.top)) return [];
  const log = await git.attempt(["log", "-g", "--format=%H%x00%ct%x00%gs", "refs/stash"]);
  if (!log.ok) return [];
  // Git counts in seconds.
  const began = Math.floor(Date.parse(since) / 1_000);
  return log.stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => [`stash@{${index}}`, ...line.split("\0")])
    .filter(([, , time, subject]) => Number(time) >= began && !others.has(branchIn(subject ?? "")))
    .map(([name = "", sha = ""]) => ({ name, sha }));
}

const branchIn = (subject: string): string => /^(?:WIP on|On) ([^:]+):/.exec(subject)?.[1] ?? "";
