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

function drop({ own, place }: HalfMade): void {
  if (place !== undefined) rmSync(place, { recursive: true, force: true });
  rmSync(own, { recursive: true, force: true });
}

/** Where no git is at work. */
export function dropAllHalfMade(git: Git): void {
  for (const each of halfMade(git)) drop(each);
}

/** Waits until the one at this place is whole; one that will never be is taken away. */
export async function untilWhole(git: Git, place: string): Promise<void> {
  const find = (): HalfMade | undefined =>
    halfMade(git).find((each) =>
      each.place === undefined
        ? basename(each.own).startsWith(basename(place))
        : basename(each.place) === basename(place),
    );
  for (let found = find(); found !== undefined; found = find()) {
    if (Date.now() - found.since > MAY_LIVE_MS) drop({ ...found, place });
    else await sleep(LOOKS_EVERY_MS);
  }
}

/** Whether this is git's entry of one, in what `git worktree list` says. */
export const isHalfMade = (lines: readonly string[]): boolean => lines.includes(`locked ${MARK}`);
