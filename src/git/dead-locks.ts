/** Lock files that a git which was ended left behind: nobody holds them open, and nobody else could work. */
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gitPlaces } from "./places.js";

/** Of the checkout, and of all checkouts together. */
const OWN = ["index.lock", "HEAD.lock"];
const COMMON = ["config.lock", "packed-refs.lock", "shallow.lock", "refs/stash.lock"];
/** A git that just made it may not show it yet. */
const YOUNG_MS = 500;

/** Removes them; their names. */
export async function dropDeadLocks(top: string, branch: string): Promise<string[]> {
  const places = gitPlaces(top);
  if (places === undefined) return [];
  // Elsewhere nobody can tell who holds a file: somebody may be writing a commit's message.
  if (platform() !== "linux") return [];
  const paths: [string, string | undefined][] = [
    ...OWN.map((name): [string, string] => [join(places.own, name), top]),
    ...[...COMMON, `refs/heads/${branch}.lock`].map((name): [string, undefined] => [
      join(places.common, name),
      undefined,
    ]),
  ];
  const dropped: string[] = [];
  for (const [path, where] of paths) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue;
    const young = YOUNG_MS - (Date.now() - found.mtimeMs);
    if (young > 0) await sleep(Math.min(young, YOUNG_MS));
    if (isHeld(path, where)) continue;
    rmSync(path, { force: true });
    dropped.push(path.slice(path.lastIndexOf("/") + 1));
  }
  return dropped;
}

/**
 * Somebody has it open, or a git that may have made it is at work: while a hook or an editor runs it is closed. `top`: the
 * only checkout it can be of.
 */
function isHeld(path: string, top: string | undefined): boolean {
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const isGit = /^git/.test(readFileSync(`/proc/${pid}/comm`, "utf8"));
      if (isGit && (top === undefined || isWithin(readlinkSync(`/proc/${pid}/cwd`), top))) return true;
      for (const fd of readdirSync(`/proc/${pid}/fd`)) if (readlinkSync(`/proc/${pid}/fd/${fd}`) === path) return true;
    } catch {
      // It is gone, or somebody else's.
    }
  }
  return false;
}

const isWithin = (path: string, top: string): boolean => path === top || path.startsWith(`${top}/`);
