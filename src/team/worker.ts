/** `segno worker`: takes runs to conduct and phases to work on, as many as it has room for, until it is ended. */
import { setTimeout as sleep } from "node:timers/promises";
import { conductTeamRun } from "./conductor.js";
import type { Machine } from "./machine.js";
import { workOnPhase } from "./phase-work.js";
import type { PhaseJob, RunJob } from "./queues.js";

const LOOKS_EVERY_MS = 300;
/** Conducting costs next to nothing. */
const MOST_CONDUCTED = 8;
const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

export async function workForTeam(machine: Machine, slots: number, ends: AbortSignal): Promise<void> {
  const { queues, say } = machine;
  const conducted = new Set<Promise<void>>();
  const phases = new Set<Promise<void>>();
  // One that cannot begin must not take the same thing again and again.
  let failures = 0;
  let notBefore = 0;
  const follow = (all: Set<Promise<void>>, what: string, work: Promise<void>): void => {
    const done = work
      .then(() => {
        failures = 0;
      })
      .catch((error: unknown) => {
        const wait = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** failures++);
        notBefore = performance.now() + wait;
        say(
          `${what}: ${error instanceof Error ? error.message : String(error)}; takes nothing new for ${wait / 1_000} s`,
        );
      })
      .finally(() => all.delete(done));
    all.add(done);
  };
  while (!ends.aborted) {
    try {
      if (performance.now() >= notBefore) {
        const run = conducted.size < MOST_CONDUCTED ? await queues.take<RunJob>("runs") : undefined;
        if (run !== undefined) follow(conducted, `conducting ${run.data.run}`, conductTeamRun(machine, run, ends));
        const phase = phases.size < slots ? await queues.take<PhaseJob>("phases") : undefined;
        if (phase !== undefined)
          follow(phases, `phase ${phase.data.phase} of ${phase.data.run}`, workOnPhase(machine, phase, ends));
        if (run !== undefined || phase !== undefined) continue;
      }
    } catch (error) {
      say(`the database cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
    }
    await sleep(LOOKS_EVERY_MS, undefined, { signal: ends }).catch(() => {});
  }
  await Promise.all([...conducted, ...phases]);
}
