/** How phases end (done, failed, skipped), and what a resume makes of those that failed. */
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import { retryMerge } from "./merging.js";
import { isAttempted, lastAttempt, leftBy, type PhaseState, revise, verifying, waiting } from "./phase.js";
import { setPhase } from "./readiness.js";
import { partEnded } from "./splitting.js";
import { stateOfPhase } from "./state.js";

type Failed = Extract<PhaseState, { step: "failed" }>;

export function phaseDone(state: Folding, { phase: id, verified, tasksDone }: FactOf<"phase-done">): void {
  const phase = stateOfPhase(state, id);
  if (!isAttempted(phase)) return;
  setPhase(state, id, { step: "done", verified, byUser: false, left: { ...leftBy(phase), tasksDone } });
  partEnded(state, id);
}

export function phaseFailed(state: Folding, event: FactOf<"phase-failed">): void {
  const { phase: id, category, message, recommendation } = event;
  const failure = { category, message, recommendation };
  if (recommendation === "halt" || state.config.on_failure === "stop") state.halted = true;
  const last = lastAttempt(stateOfPhase(state, id));
  setPhase(state, id, { step: "failed", failure, last, leftCommitted: false });
}

export function skipRequested(state: Folding, { phase: id }: FactOf<"skip-requested">): void {
  const phase = stateOfPhase(state, id);
  if (isAttempted(phase)) setPhase(state, id, { ...phase, attempt: { ...phase.attempt, skipping: true } });
  else if (phase.step !== "done") setPhase(state, id, { step: "skipped", left: leftBy(phase) });
  partEnded(state, id);
}

export function phaseSkipped(state: Folding, { phase: id }: FactOf<"phase-skipped">): void {
  setPhase(state, id, { step: "skipped", left: leftBy(stateOfPhase(state, id)) });
  partEnded(state, id);
}

/** What failed is tried again, as a further attempt; what was stopped or interrupted goes on where it was. */
export function retryFailed(state: Folding): void {
  for (const [id, phase] of state.phases) if (phase.step === "failed") setPhase(state, id, again(phase));
}

function again({ failure, last }: Failed): PhaseState {
  if (last === undefined) return waiting();
  // What only waited for a person is verified again, and asked again.
  if (failure.category === "human_needed") return verifying(revise(last, "commits", { settled: true }));
  if (last.split.parts.length > 0) return { step: "split", attempt: last };
  if (failure.category === "merge_conflict" && last.origin.worktree !== undefined) {
    const attempt = revise(last, "commits", { failure: undefined });
    if (last.train.merge === undefined) return { step: "merging", attempt, results: [] };
    return verifying(retryMerge(attempt));
  }
  return waiting(last.number + 1, last);
}

/** What a person wants done about a failed phase. */
export function answeredFailure(state: Folding, id: string, choice: string): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "failed") return;
  const { last } = phase;
  if (choice === "skip") phaseSkipped(state, { type: "phase-skipped", phase: id });
  else if (choice === "revise") setPhase(state, id, last === undefined ? waiting() : waiting(last.number + 1, last));
  else if (choice === "continue" && last !== undefined) setPhase(state, id, accepted(last));
}

function accepted(last: NonNullable<Failed["last"]>): PhaseState {
  if (last.train.merge !== undefined) return verifying(retryMerge(last));
  const attempt = revise(revise(last, "commits", { failure: undefined }), "judged", { accepted: true });
  return { step: "committing", attempt, committed: false, results: [] };
}
