/**
 * Commits of a phase: before each handover, when it has passed, when others were merged into it, and when it failed.
 *
 *   committing(not yet) ─ made, or nothing to commit ─▶ committing(committed) ─▶ done · in a worktree: merging
 *                       ─ refused: a secret, a hook ─▶ verifying, where it counts as a failing gate
 */
import { type CommitKind, commandId } from "./command.js";
import { conclude, type Decision, failPhase, perform } from "./decision.js";
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import {
  type Attempt,
  changeAttempt,
  changePhase,
  isAttempted,
  lastAttempt,
  type PhaseState,
  revise,
  verifying,
} from "./phase.js";
import { setPhase } from "./readiness.js";
import { stateOfPhase } from "./state.js";
import { isVerified } from "./verified.js";

export function commit(id: string, attempt: Attempt, kind: CommitKind): Decision {
  const { number, commits } = attempt;
  if (commits.failure !== undefined) return failPhase(id, number, commits.failure);
  const n = commits.finished + 1;
  return perform({ type: "commit", id: commandId(id, number, "commit", n), phase: id, attempt: number, kind, n });
}

/** What a phase that passed is committed as. */
export const passedKind = ({ train }: Attempt): CommitKind => (train.merge === undefined ? "phase" : "merge");

type Committing = Extract<PhaseState, { step: "committing" }>;

export function decideCommitted(id: string, { attempt, committed, results }: Committing): Decision {
  if (!committed) return commit(id, attempt, passedKind(attempt));
  const verified = isVerified(attempt, results);
  const { tasksDone } = attempt.progress;
  return conclude({ type: "phase-done", phase: id, attempt: attempt.number, verified, tasksDone });
}

export function commitIssued(state: Folding, phase: string, kind: CommitKind): void {
  changePhase(state, phase, (before) => {
    if (before.step !== "verifying" || (kind !== "phase" && kind !== "merge")) return before;
    const { attempt, results } = before;
    return { step: "committing", attempt, committed: false, results };
  });
}

export function commitMade(state: Folding, { phase, kind, sha, ref }: FactOf<"commit-made">): void {
  if (ref === undefined && worksInCheckout(state, phase)) state.head = sha;
  // Of a phase without tasks, what git shows is what it got done; going round in circles ends it all the same.
  const taskless = state.readiness.planned.get(phase)?.tasks.length === 0;
  changeAttempt(state, phase, (attempt) => {
    const { tasksDone, idleHandovers } = attempt.progress;
    const kept = revise(attempt, "progress", {
      tasksCommitted: tasksDone,
      idleHandovers: taskless ? 0 : idleHandovers,
    });
    return revise(kept, "trouble", { emptySession: undefined });
  });
  committed(state, phase, kind, sha);
}

export const commitSkipped = (state: Folding, { phase, kind }: FactOf<"commit-skipped">): void =>
  committed(state, phase, kind, undefined);

export function phaseSetAside(state: Folding, { phase: id, sha }: FactOf<"phase-set-aside">): void {
  committed(state, id, "failed", undefined);
  const phase = stateOfPhase(state, id);
  if (phase.step !== "failed") return;
  const last = phase.last === undefined ? undefined : revise(phase.last, "commits", { aside: sha });
  setPhase(state, id, { ...phase, last, cleared: true });
}

/** The work is kept; a finished phase goes to repair, a handover goes on without a commit. */
export function commitRefused(state: Folding, { phase: id, kind, why, output }: FactOf<"commit-refused">): void {
  const phase = stateOfPhase(state, id);
  if (phase.step !== "committing" || phase.attempt.judged.accepted) return committed(state, id, kind, undefined);
  const refused = { gate: COMMIT_GATE, name: "the commit", passed: false, why, output };
  setPhase(state, id, verifying(oneMore(phase.attempt, undefined), [...phase.results, refused]));
}

const COMMIT_GATE = "commit";

export function commitFailed(state: Folding, { phase: id, kind, category, why }: FactOf<"commit-failed">): void {
  if (stateOfPhase(state, id).step === "failed") return committed(state, id, kind, undefined);
  const failure = { category, message: why, recommendation: "ask" as const };
  changeAttempt(state, id, (attempt) => revise(oneMore(attempt, undefined), "commits", { failure }));
}

/** Whether its commits go to the run's own checkout. */
const worksInCheckout = ({ phases }: Folding, id: string): boolean =>
  lastAttempt(phases.get(id))?.origin.worktree === undefined;

const oneMore = (attempt: Attempt, sha: string | undefined): Attempt => {
  const { made, finished } = attempt.commits;
  return revise(attempt, "commits", { made: sha === undefined ? made : [...made, sha], finished: finished + 1 });
};

function committed(state: Folding, id: string, kind: CommitKind, sha: string | undefined): void {
  const phase = stateOfPhase(state, id);
  if (phase.step === "failed") {
    const last = phase.last === undefined ? undefined : oneMore(phase.last, sha);
    return setPhase(state, id, { ...phase, last, settled: true, cleared: phase.cleared || sha !== undefined });
  }
  if (isAttempted(phase)) setPhase(state, id, afterCommit({ ...phase, attempt: oneMore(phase.attempt, sha) }, kind));
}

function afterCommit(phase: Extract<PhaseState, { attempt: Attempt }>, kind: CommitKind): PhaseState {
  const { attempt } = phase;
  switch (phase.step) {
    case "verifying":
      return kind === "handover" ? { ...phase, attempt: revise(attempt, "commits", { settled: true }) } : phase;
    case "working":
    case "remediating":
    case "reviewing":
      return kind === "handover" ? { ...phase, next: { type: "session" } } : phase;
    case "committing":
      if (attempt.origin.worktree === undefined) return { ...phase, committed: true };
      return { step: "merging", attempt: revise(attempt, "train", { merge: undefined }), results: phase.results };
    case "merging":
    case "split":
      return phase;
    default:
      return phase satisfies never;
  }
}
