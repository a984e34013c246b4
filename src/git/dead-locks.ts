/** Lock files that a git which was ended left behind: nobody holds them open, and nobody else could work. */
import { readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { gitPlaces } from "./signs.js";

const NAMES = ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "refs/stash.lock"];
/** Where nobody can tell who holds a file, one this old is dead. */
const OLD_MS = 60_000;
/** A git that just made it may not show it yet. */
const YOUNG_MS = 500;

/** Removes them; their names. */
export function dropDeadLocks(top: string, branch: string): string[] {
  const places = gitPlaces(top);
  if (places === undefined) return [];
  const paths = new Set(
    [...NAMES, `refs/heads/${branch}.lock`].flatMap((name) => [join(places.own, name), join(places.common, name)]),
  );
  const dropped: string[] = [];
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined || !isDead(path, Date.now() - found.mtimeMs)) continue;
    rmSync(path, { force: true });
    dropped.push(path.slice(path.lastIndexOf("/") + 1));
  }
  return dropped;
}

const isDead = (path: string, age: number): boolean =>
  platform() === "linux" ? age > YOUNG_MS && !isOpen(path) : age > OLD_MS;

function isOpen(path: string): boolean {
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`))
        if (readlinkSync(`/proc/${pid}/fd/${fd}`) === path) return true;
    } catch {
      // It is gone, or somebody else's.
    }
  }
  return false;
}
