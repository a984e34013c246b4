/** How phases end (done, failed, skipped), and what a resume makes of those that failed. */
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import { retryMerge } from "./merging.js";
import { isAttempted, lastAttempt, leftBy, type PhaseState, revise, verifying, waiting } from "./phase.js";
import { dropQuestionsAbout } from "./questions.js";
import { setPhase } from "./readiness.js";
import { partEnded } from "./splitting.js";
import { type RunState, stateOfPhase } from "./state.js";

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
  const phase = stateOfPhase(state, id);
  // One that could not even be begun again leaves what the attempt before it left, which was looked after then.
  const isBegun = phase.step !== "waiting" && phase.step !== "starting";
  const last = isBegun ? lastAttempt(phase) : phase.before && { ...phase.before, number: phase.number };
  const cleared = last === undefined || last.origin.worktree !== undefined || !isBegun;
  const settled = !isBegun && last !== undefined;
  setPhase(state, id, { step: "failed", failure, last, settled, cleared, revising: undefined });
}

export function skipRequested(state: Folding, { phase: id }: FactOf<"skip-requested">): void {
  const phase = stateOfPhase(state, id);
  if (isAttempted(phase)) setPhase(state, id, { ...phase, attempt: { ...phase.attempt, skipping: true } });
  else if (phase.step !== "done") return phaseSkipped(state, { type: "phase-skipped", phase: id });
  partEnded(state, id);
}

export function phaseSkipped(state: Folding, { phase: id }: FactOf<"phase-skipped">): void {
  const phase = stateOfPhase(state, id);
  const parts = lastAttempt(phase)?.split.parts ?? [];
  setPhase(state, id, { step: "skipped", left: leftBy(phase) });
  dropQuestionsAbout(state, id);
  leaveOut(state, parts);
  partEnded(state, id);
}

/** What sub-phases did not finish is left out with their phase. */
function leaveOut(state: Folding, parts: readonly string[]): void {
  for (const part of parts) {
    const now = stateOfPhase(state, part);
    if (now.step === "waiting" || now.step === "failed") phaseSkipped(state, { type: "phase-skipped", phase: part });
  }
}

/**
 * What failed is tried again, as a further attempt; what was stopped or interrupted goes on where it was. Where a person is
 * about to change the phase's text, that is still waited for.
 */
export function retryFailed(state: Folding, now: string): void {
  for (const [id, phase] of state.phases)
    if (phase.step === "failed" && (phase.revising?.until ?? "") <= now) setPhase(state, id, again(phase));
}

function again({ failure, last }: Failed): PhaseState {
  if (last === undefined) return waiting();
  if (last.commits.aside !== undefined) return waiting(last.number + 1, last);
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
export function answeredFailure(state: Folding, id: string, choice: string, at: string): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "failed") return;
  const { last } = phase;
  if (choice === "skip") phaseSkipped(state, { type: "phase-skipped", phase: id });
  else if (choice === "revise") {
    const until = new Date(Date.parse(at) + state.config.ask_timeout_minutes * 60_000).toISOString();
    setPhase(state, id, { ...phase, revising: { until } });
  } else if (choice === "continue" && last !== undefined) {
    // Who takes a phase as it is takes it without the parts that failed.
    leaveOut(state, last.split.parts);
    setPhase(state, id, accepted(last));
  }
}

export function phaseRevised(state: Folding, { phase: id }: FactOf<"phase-revised">): void {
  const phase = stateOfPhase(state, id);
  if (phase.step !== "failed") return;
  setPhase(state, id, phase.last === undefined ? waiting() : waiting(phase.last.number + 1, phase.last));
}

/** Failed phases whose text somebody changes now, and until when that is waited for. */
export const revisions = ({ readiness, phases, now }: RunState): { phase: string; until: string }[] =>
  [...readiness.failed].flatMap((phase) => {
    const failed = phases.get(phase);
    const until = failed?.step === "failed" ? failed.revising?.until : undefined;
    return until === undefined || until <= now ? [] : [{ phase, until }];
  });

function accepted(last: NonNullable<Failed["last"]>): PhaseState {
  if (last.train.merge !== undefined) return verifying(retryMerge(last));
  const attempt = revise(revise(last, "commits", { failure: undefined }), "judged", { accepted: true });
  return { step: "committing", attempt, committed: false, results: [] };
}
