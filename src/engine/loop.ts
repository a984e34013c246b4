/**
 * The loop: decide, write down what is intended, perform, fold what came of it, decide again. Whoever performs only
 * appends facts; whatever follows from them is decided here.
 */
import { decide } from "../run/decide.js";
import type { Decision } from "../run/decision.js";
import type { Fact } from "../run/event.js";
import { OBSERVATIONS } from "../run/observations.js";
import type { RunStatus } from "../run/state.js";
import { wakeAt } from "../run/waits.js";
import type { HeldRun } from "./held-run.js";
import { perform } from "./perform.js";

/** `performs`: who does what was decided; this process, where nothing else is said. */
export async function decideAndPerform(held: HeldRun, performs = perform): Promise<RunStatus> {
  const { run } = held;
  let wake = () => {};
  let failure: unknown;
  run.onEvent((event) => {
    if (!OBSERVATIONS.has(event.type)) wake();
  });
  const fail = (error: unknown) => {
    failure ??= error;
    wake();
  };
  run.onBroken(fail);
  let conclusions = 0;
  while (run.state.status === "running" && failure === undefined) {
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const decisions = decide(run.state);
    // Somebody else wrote meanwhile: what it says is folded, and decided anew.
    if (decisions.length > 0 && !(await run.decide(decisions.map(factOf)))) continue;
    for (const decision of decisions) {
      if (decision.type === "perform") {
        conclusions = 0;
        performs(held, decision.command).catch(fail);
      } else if (++conclusions > MOST_CONCLUSIONS)
        throw new Error(`the run goes round in circles: ${decision.fact.type}`);
    }
    const callOff = setAlarm(wakeAt(run.state), held.now, (moment) =>
      run.record({ type: "time-reached", moment }).catch(fail),
    );
    await changed;
    callOff();
  }
  if (failure !== undefined) throw failure;
  return run.state.status;
}

const factOf = (decision: Decision): Fact =>
  decision.type === "conclude"
    ? decision.fact
    : { type: "command-issued", phase: decision.command.phase, command: decision.command };

/** Conclusions in a row without anything done: far more than any plan has phases to skip. */
const MOST_CONCLUSIONS = 20_000;

/** Longer waits are looked at again in between: a machine that slept has another clock. */
const LONGEST_WAIT_MS = 60_000;

/** Rings at the moment; what it returns calls it off. */
function setAlarm(moment: string | undefined, now: () => number, ring: (moment: string) => void): () => void {
  if (moment === undefined) return () => {};
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    const left = Date.parse(moment) - now();
    if (left <= 0) ring(moment);
    else timer = setTimeout(arm, Math.min(left, LONGEST_WAIT_MS));
  };
  timer = setTimeout(arm, 0);
  return () => clearTimeout(timer);
}
