/** Lock files that a git which was ended left behind: nobody holds them open, and nobody else could work. */
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gitPlaces } from "./signs.js";

const NAMES = ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "refs/stash.lock"];
/** Where nobody can tell who holds a file, one this old is dead. */
const OLD_MS = 60_000;
/** A git that just made it may not show it yet. */
const YOUNG_MS = 500;

/** Removes them; their names. */
export async function dropDeadLocks(top: string, branch: string): Promise<string[]> {
  const places = gitPlaces(top);
  if (places === undefined) return [];
  const paths = new Set(
    [...NAMES, `refs/heads/${branch}.lock`].flatMap((name) => [join(places.own, name), join(places.common, name)]),
  );
  const dropped: string[] = [];
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue;
    const young = YOUNG_MS - (Date.now() - found.mtimeMs);
    if (young > 0) await sleep(Math.min(young, YOUNG_MS));
    if (!isDead(path, top, Date.now() - found.mtimeMs)) continue;
    rmSync(path, { force: true });
    dropped.push(path.slice(path.lastIndexOf("/") + 1));
  }
  return dropped;
}

const isDead = (path: string, top: string, age: number): boolean =>
  platform() === "linux" ? !isHeld(path, top) : age > OLD_MS;

/** Somebody has it open, or a git that may have made it is at work here: while a hook runs it is closed. */
function isHeld(path: string, top: string): boolean {
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (/^git/.test(readFileSync(`/proc/${pid}/comm`, "utf8")) && isWithin(readlinkSync(`/proc/${pid}/cwd`), top))
        return true;
      for (const fd of readdirSync(`/proc/${pid}/fd`)) if (readlinkSync(`/proc/${pid}/fd/${fd}`) === path) return true;
    } catch {
      // It is gone, or somebody else's.
    }
  }
  return false;
}

const isWithin = (path: string, top: string): boolean => path === top || path.startsWith(`${top}/`);
