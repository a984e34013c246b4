/**
 * Worktrees that a git which was killed never finished: its files are missing in part, and with no HEAD yet nothing can be
 * fetched into the repository any more. Git marks them while it makes them, and nobody works in one before.
 */
import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Git } from "./git.js";
import { gitPlaces, textOf } from "./places.js";

const MARK = "initializing";
/** A git whose parent was killed goes on: so long it may still be at it. */
const MAY_LIVE_MS = 60_000;
const LOOKS_EVERY_MS = 100;

interface HalfMade {
  /** What git keeps of it. */
  own: string;
  place: string | undefined;
  since: number;
}

function halfMade(git: Git): HalfMade[] {
  const common = gitPlaces(git.top)?.common;
  if (common === undefined) return [];
  return namesIn(join(common, "worktrees")).flatMap((name) => {
    const own = join(common, "worktrees", name);
    const lock = join(own, "locked");
    if (textOf(lock)?.trim() !== MARK) return [];
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since === undefined) return [];
    const link = textOf(join(own, "gitdir"))?.trim();
    return [{ own, since, place: link === undefined ? undefined : dirname(link) }];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Waits until what is being made is whole; what will never be is taken away. `at`: only what is to be there. */
export async function untilWhole(git: Git, at?: string): Promise<void> {
  // Before it is known where it is to be, its name may have a number at its end.
  const isMeant = ({ own, place }: HalfMade): boolean =>
    at === undefined ||
    (place === undefined ? basename(own).startsWith(basename(at)) : basename(place) === basename(at));
  const find = (): HalfMade | undefined => halfMade(git).find(isMeant);
  for (let found = find(); found !== undefined; found = find()) {
    // A clock that was ahead when it began says nothing, either.
    if (Math.abs(Date.now() - found.since) > MAY_LIVE_MS) drop(found);
    else await sleep(LOOKS_EVERY_MS);
  }
}

function drop({ own, place }: HalfMade): void {
  if (place !== undefined) rmSync(place, { recursive: true, force: true });
  rmSync(own, { recursive: true, force: true });
}

/** Whether this is git's entry of one, in what `git worktree list` says. */
export const isHalfMade = (lines: readonly string[]): boolean => lines.includes(`locked ${MARK}`);
