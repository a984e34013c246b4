/** `segno worker`: takes runs to conduct and phases to work on, as many as it has room for, until it is ended. */
import { setTimeout as sleep } from "node:timers/promises";
import { nearlyFull } from "../engine/harm.js";
import type { Needs } from "../run/team.js";
import { LeaseLost } from "../store/postgres/journal.js";
import { conductTeamRun } from "./conductor.js";
import type { Machine } from "./machine.js";
import { offerOrphans } from "./orphans.js";
import { workOnPhase } from "./phase-work.js";
import type { PhaseJob, RunJob } from "./queues.js";
import { tidyMachine } from "./tidy.js";

const LOOKS_EVERY_MS = 300;
const ALIVE_EVERY_MS = 2_000;
/** Conducting costs next to nothing. */
const MOST_CONDUCTED = 8;
const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
const TIDIES_EVERY_MS = 10 * 60_000;
const LOOKS_FOR_ORPHANS_EVERY_MS = 10_000;
const NOTHING: Needs = { agents: [], labels: [] };

/** What it can take, looked at from time to time: queues come with plans, and accounts reach their limits. */
interface Offered {
  runs: string[];
  phases: string[];
}

/** `ends`: it is to end, and hands over what it has. */
export async function workForTeam(machine: Machine, ends: AbortSignal): Promise<void> {
  const { queues, store, offer, say } = machine;
  const conducted = new Set<Promise<void>>();
  // What its own phases hand over is decided first.
  const endsConducting = new AbortController();
  const phases = new Set<Promise<void>>();
  /** One entry for each thing that is done. */
  const busy: string[] = [];
  // One that cannot begin must not take the same thing again and again.
  let failures = 0;
  let notBefore = 0;
  let offered: Offered = { runs: [], phases: [] };
  let lookedAt = Number.NEGATIVE_INFINITY;
  let away = false;
  let isFull = false;
  let tidiedAt = Number.NEGATIVE_INFINITY;
  let soughtAt = Number.NEGATIVE_INFINITY;
  const follow = (all: Set<Promise<void>>, run: string, what: string, work: Promise<void>): void => {
    busy.push(run);
    const done = work
      .then(() => {
        failures = 0;
      })
      .catch((error: unknown) => {
        // Somebody else goes on with it: nothing is wrong here.
        if (error instanceof LeaseLost) return say(`${what}: ${error.message}`);
        const wait = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** failures++);
        notBefore = performance.now() + wait;
        say(`${what}: ${wordsOf(error)}; takes nothing new for ${wait / 1_000} s`);
      })
      .finally(() => {
        all.delete(done);
        busy.splice(busy.indexOf(run), 1);
        // What it may take now may be something else.
        lookedAt = Number.NEGATIVE_INFINITY;
      });
    all.add(done);
  };
  while (!ends.aborted) {
    try {
      if (performance.now() - lookedAt > ALIVE_EVERY_MS) {
        await store.sayAlive(offer);
        offered = await whatToTake(machine);
        lookedAt = performance.now();
        if (away) say("the database is back");
        away = false;
      }
      if (performance.now() - tidiedAt > TIDIES_EVERY_MS) {
        tidiedAt = performance.now();
        await tidyMachine(machine, new Set(busy)).catch((error: unknown) =>
          say(`what earlier runs left here could not be removed: ${wordsOf(error)}`),
        );
      }
      if (performance.now() - soughtAt > LOOKS_FOR_ORPHANS_EVERY_MS) {
        soughtAt = performance.now();
        for (const run of await offerOrphans(machine)) say(`nobody conducts ${run}: it is offered again`);
      }
      if (performance.now() >= notBefore) {
        const run = conducted.size < MOST_CONDUCTED ? await queues.take<RunJob>(offered.runs) : undefined;
        if (run !== undefined)
          follow(
            conducted,
            run.data.run,
            `conducting ${run.data.run}`,
            conductTeamRun(machine, run, endsConducting.signal),
          );
        // Looked at each time: what was left for want of room must not be taken again by another slot.
        const full = nearlyFull(machine.folder);
        if (full !== undefined && !isFull) say(`takes no phase: ${full}`);
        isFull = full !== undefined;
        const hasRoom = !isFull && phases.size < offer.slots;
        const phase = hasRoom ? await queues.take<PhaseJob>(offered.phases) : undefined;
        if (phase !== undefined)
          follow(
            phases,
            phase.data.run,
            `phase ${phase.data.phase} of ${phase.data.run}`,
            workOnPhase(machine, phase, ends),
          );
        if (run !== undefined || phase !== undefined) continue;
      }
    } catch (error) {
      if (!away) say(`the database cannot be reached: ${wordsOf(error)}`);
      away = true;
    }
    await sleep(LOOKS_EVERY_MS, undefined, { signal: ends }).catch(() => {});
  }
  // Until the last of it is handed over it is still there.
  const alive = setInterval(() => void store.sayAlive({ ...offer, slots: 0 }).catch(() => {}), ALIVE_EVERY_MS);
  await Promise.all(phases);
  endsConducting.abort();
  await Promise.all(conducted);
  clearInterval(alive);
  await store.sayGone().catch(() => {});
}

async function whatToTake({ queues, store, offer }: Machine): Promise<Offered> {
  const limited = await store.limitedAccounts();
  const isFree = ([agent, account]: [string, string]): boolean =>
    !limited.some((each) => each.agent === agent && each.account === account);
  const agents = Object.entries(offer.agents)
    .filter(isFree)
    .map(([agent]) => agent);
  return {
    runs: await queues.within("runs", NOTHING),
    phases: await queues.within("phases", { agents, labels: offer.labels }),
  };
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
