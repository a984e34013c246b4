/** While somebody changes the text of a failed phase: looks whether they did. */
import { revisions } from "../run/ending.js";
import type { HeldRun } from "./held-run.js";
import { inTurn } from "./in-turn.js";
import { isRevised, takeUpPlanChanges } from "./plan-reading.js";

const LOOK_MS = 500;

export function awaitRevisions(held: HeldRun): { stop(): void } {
  const { run } = held;
  let looking = false;
  const look = async (): Promise<void> => {
    const revised: string[] = [];
    for (const { phase } of revisions(run.state)) if (await isRevised(held, phase)) revised.push(phase);
    if (revised.length > 0) await takeUpPlanChanges(held, revised);
  };
  const timer = setInterval(() => {
    if (looking || revisions(run.state).length === 0) return;
    looking = true;
    inTurn(held, look)
      // What cannot be read now is looked at again.
      .catch(() => {})
      .finally(() => {
        looking = false;
      });
  }, LOOK_MS);
  return { stop: () => clearInterval(timer) };
}
