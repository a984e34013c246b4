/** One at a time, in the order in which they came: what reads the plan and makes branches. */
import type { HeldRun } from "./held-run.js";

const waiting = new WeakMap<HeldRun["run"], Promise<unknown>>();

export function inTurn<T>({ run }: HeldRun, work: () => Promise<T>): Promise<T> {
  const done = (waiting.get(run) ?? Promise.resolve()).then(work);
  waiting.set(
    run,
    done.catch(() => {}),
  );
  return done;
}
