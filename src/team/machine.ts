/** A worker's machine: what it reaches, what it works with, and its own clones of the repository. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Equipment } from "../engine/held-run.js";
import { Git } from "../git/git.js";
import { untilWhole } from "../git/half-made.js";
import type { RunState } from "../run/state.js";
import type { Redact } from "../secrets/redact.js";
import type { Database } from "../store/postgres/database.js";
import type { Offer, PgStore } from "../store/postgres/store.js";
import type { Queues } from "./queues.js";

export interface Machine {
  /** Its name in the journal and in the markers of what it starts. */
  worker: string;
  offer: Offer;
  /** Where the code travels. */
  url: string;
  store: PgStore;
  database: Database;
  queues: Queues;
  /** Where its clones are. */
  folder: string;
  /** It holds nothing longer than that, and hands it over at a boundary then. */
  longestLeaseMs: number;
  /** What it works with for a run; of agents only those that it offers. */
  equipment: (state: Pick<RunState, "config" | "plan">) => Promise<Equipment>;
  redact: Redact;
  say: (text: string) => void;
}

/** One clone for all phases; agents work in worktrees of it. */
export function workClone({ folder, url, say }: Machine, ends: AbortSignal): Promise<Git> {
  const place = join(folder, "work");
  return oneAtATime(place, async () => {
    dropLocks(folder);
    if (!existsSync(join(place, ".git"))) {
      say("clones the repository, once: its first phase begins when that is done");
      await cloneWhole(folder, url, place, ["--no-checkout"], ends);
    }
    const clone = new Git(place);
    // What the gits of a killed worker were making: with it nothing could be fetched.
    if (!whole.has(place)) await untilWhole(clone);
    whole.add(place);
    return clone;
  });
}

const making = new Map<string, Promise<unknown>>();

/** Two phases that begin together share what is made for both. */
function oneAtATime<T>(place: string, make: () => Promise<T>): Promise<T> {
  const made = (making.get(place) ?? Promise.resolve()).then(make);
  making.set(
    place,
    made.catch(() => {}),
  );
  return made;
}

const unlocked = new Set<string>();
const whole = new Set<string>();

/**
 * Lock files that the gits of a killed worker left: whoever holds the folder now is the only one there, and has begun none
 * when it looks for the first time.
 */
function dropLocks(folder: string): void {
  if (unlocked.has(folder)) return;
  unlocked.add(folder);
  for (const clone of [join(folder, "work", ".git"), join(folder, "conductor.git")]) {
    if (!existsSync(clone)) continue;
    for (const name of readdirSync(clone, { recursive: true, encoding: "utf8" }))
      if (name.endsWith(".lock") && !name.startsWith("objects/")) rmSync(join(clone, name), { force: true });
  }
}

/** The clones that are whole. */
export function clonesIn(folder: string): Git[] {
  dropLocks(folder);
  const [work, conductors] = [join(folder, "work"), join(folder, "conductor.git")];
  return [
    ...(existsSync(join(work, ".git")) ? [new Git(work)] : []),
    ...(existsSync(join(conductors, "HEAD")) ? [new Git(conductors)] : []),
  ];
}

/** Runs that have a checkout here. */
export function runsIn(folder: string): string[] {
  const place = join(folder, "runs");
  return existsSync(place) ? readdirSync(place) : [];
}

export const checkoutOf = (folder: string, run: string): string => join(folder, "runs", run);

/** A checkout of the commit a run began from: there people's files for Segno are read, and nobody works in it. */
export function runCheckout(clone: Git, folder: string, run: string, commit: string): Promise<Git> {
  const place = checkoutOf(folder, run);
  return oneAtATime(place, async () => {
    if (!existsSync(join(place, ".git"))) {
      await clone.attempt(["worktree", "prune"]);
      await clone.raw(["worktree", "add", "--quiet", "--force", "--detach", place, commit]);
    }
    return new Git(place);
  });
}

/** The conductor's: no agent is ever started near it. */
export function conductorClone({ folder, url }: Machine, ends: AbortSignal): Promise<Git> {
  const place = join(folder, "conductor.git");
  return oneAtATime(place, async () => {
    dropLocks(folder);
    if (!existsSync(join(place, "HEAD")))
      await cloneWhole(folder, url, place, ["--bare", "--single-branch", "--no-tags"], ends);
    return new Git(place);
  });
}

/** However long it takes, until the worker ends. What was left half done has another name. */
async function cloneWhole(
  folder: string,
  url: string,
  place: string,
  how: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const draft = `${place}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await new Git(folder).raw(["clone", "--quiet", ...how, url, draft], { signal });
  renameSync(draft, place);
}

const LOOKS_EVERY_MS = 10_000;

/** What time it is in the database: a clock of this machine that is wrong decides nothing. */
export async function databaseClock(database: Database): Promise<{ now: () => number; stop: () => void }> {
  let ahead = 0;
  const look = async (): Promise<void> => {
    const asked = Date.now();
    const [row] = await database.query<{ ms: string }>("SELECT extract(epoch FROM segno.clock()) * 1000 AS ms");
    if (row !== undefined) ahead = Number(row.ms) - (asked + Date.now()) / 2;
  };
  await look();
  const timer = setInterval(() => void look().catch(() => {}), LOOKS_EVERY_MS).unref();
  return { now: () => Date.now() + ahead, stop: () => clearInterval(timer) };
}
