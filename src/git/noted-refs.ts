/**
 * The user's branches, tags and stashes, as they were when the run began: what an agent deletes of them is put back, and
 * named. One that was only moved stays where it is: that may have been the user.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Git } from "./git.js";
import { gitPlaces } from "./places.js";
import { hasStash } from "./signs.js";

export interface NotedRefs {
  /** Objects by the full name of what names them. */
  refs: Record<string, string>;
  /** Commits of stashes, and what is said of each, oldest first. */
  stashes: [sha: string, about: string][];
}

/** Segno's own come and go. */
const OWN = /^refs\/heads\/segno\//;

const noteOf = (top: string, run: string): string | undefined => {
  const places = gitPlaces(top);
  return places === undefined ? undefined : join(places.common, "segno", "settings", `${run}-refs.json`);
};

/** `again`: the run was interrupted, and what was noted at its start still counts. */
export async function noteRefs(git: Git, run: string, { again }: { again: boolean }): Promise<NotedRefs> {
  const file = noteOf(git.top, run);
  if (again && file !== undefined && existsSync(file)) {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as NotedRefs;
    } catch {
      // Half of a note is none.
    }
  }
  const noted = { refs: await refsOf(git), stashes: await stashesOf(git) };
  try {
    if (file !== undefined) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(noted), { mode: 0o600 });
    }
  } catch {
    // It only serves after an interruption.
  }
  return noted;
}

export function forgetRefs(top: string, run: string): void {
  const file = noteOf(top, run);
  try {
    if (file !== undefined) rmSync(file, { force: true });
  } catch {
    // Where its folder is none any more, it is gone.
  }
}

/** What was gone and is there again, in words. */
export async function putRefsBack(git: Git, noted: NotedRefs): Promise<string[]> {
  const back: string[] = [];
  const refs = await refsOf(git);
  for (const [name, object] of Object.entries(noted.refs)) {
    // Only where there is none: somebody may have made it anew in this moment.
    if (name in refs || !(await git.attempt(["update-ref", name, object, ""])).ok) continue;
    back.push(name.replace(/^refs\/heads\//, "branch ").replace(/^refs\/tags\//, "tag "));
  }
  if (noted.stashes.length === 0) return back;
  const there = new Set((await stashesOf(git)).map(([sha]) => sha));
  for (const [sha, about] of noted.stashes)
    if (!there.has(sha) && (await git.attempt(["stash", "store", "--message", about, sha])).ok)
      back.push(`the stash "${about}"`);
  return back;
}

async function refsOf(git: Git): Promise<Record<string, string>> {
  const format = "--format=%(refname) %(objectname)";
  const { stdout } = await git.attempt(["for-each-ref", format, "refs/heads", "refs/tags"]);
  const rows = stdout.split("\n").filter((line) => line !== "" && !OWN.test(line));
  return Object.fromEntries(rows.map((line) => line.split(" ") as [string, string]));
}

async function stashesOf(git: Git): Promise<[string, string][]> {
  if (!hasStash(git.top)) return [];
  const { stdout } = await git.attempt(["log", "-g", "--format=%H%x00%gs", "refs/stash"]);
  const rows = stdout.split("\n").filter((line) => line !== "");
  return rows.map((line) => line.split("\0") as [string, string]).reverse();
}
