/**
 * The merge train: finished phases come from their worktrees to the run's branch (sub-phases: to their phase's), one at
 * a time. What came there meanwhile is first merged into the phase's own worktree, where gates judge it: what is on the
 * branch has always passed. One that conflicts, or fails merged, leaves the train for its repair; the others go on.
 */
import type { Gate, GateCheck } from "../plan/model.js";
import { commandId } from "./command.js";
import { conclude, type Decision, failPhase, perform, skipPhase } from "./decision.js";
import type { FactOf } from "./event.js";
import { MERGE_CHOICES } from "./question.js";
import { type Folding, setPhase } from "./roster.js";
import { type Attempt, type GateResult, isAttempt, type PhaseState, phaseOf, type RunState } from "./state.js";

type Merging = Extract<PhaseState, { step: "merging" }>;
type Verifying = Extract<PhaseState, { step: "verifying" }>;

const CONFLICTS = "merge:conflicts";

export const hasConflict = (results: readonly GateResult[]): boolean =>
  results.some(({ gate, passed }) => gate === CONFLICTS && !passed);

/** What must pass: a gate of the plan, or that no conflict is left. */
export interface GateToPass extends Omit<Gate, "check"> {
  check: GateCheck | { type: "resolved"; paths: readonly string[] };
}

/** Merged phases whose gates count for this one, too. */
export function sharingWith({ merged, config }: RunState, phase: string, files: readonly string[]): string[] {
  const own = new Set(files);
  return [...merged]
    .filter(([id, changed]) => id !== phase && (config.merge_gates === "all" || changed.some((file) => own.has(file))))
    .map(([id]) => id);
}

/** The gates of a phase; in a merged state also those of merged phases that touched the same files. */
export function gatesToPass(state: RunState, id: string, { merge }: Pick<Attempt, "merge">): GateToPass[] {
  const own = phaseOf(state, id).gates;
  if (merge === undefined) return own;
  const gates: GateToPass[] = [];
  const { file, line } = phaseOf(state, id);
  if (merge.conflicts.length > 0) {
    const check = { type: "resolved", paths: merge.conflicts } as const;
    gates.push({ id: CONFLICTS, name: "no conflict is left", check, file, line });
  }
  const seen = new Set<string>();
  const take = (gate: Gate, name: string) => {
    const key = JSON.stringify(gate.check);
    if (gate.check.type === "manual" || seen.has(key)) return;
    seen.add(key);
    gates.push({ ...gate, id: name });
  };
  for (const gate of own) take(gate, gate.id);
  for (const other of merge.sharing)
    for (const gate of state.roster.planned.get(other)?.gates ?? []) take(gate, `${other}/${gate.id}`);
  return gates;
}

export function decideMerging(state: RunState, id: string, phase: Merging): Decision | undefined {
  const { attempt, merged, commitFailure, results } = phase;
  if (merged !== undefined) {
    const gates = results.filter(({ gate }) => gate !== CONFLICTS);
    const verified = !phase.accepted && gates.length > 0 && gates.every((result) => result.passed);
    return conclude({ type: "phase-done", phase: id, attempt, verified, tasksDone: phase.tasksDone });
  }
  if (phase.skipping) return skipPhase(id);
  if (commitFailure !== undefined) return failPhase(id, attempt, commitFailure);
  if (trainIsTaken(state, id)) return undefined;
  const n = phase.merges + 1;
  return perform({ type: "merge-phase", id: commandId(id, attempt, "merge", n), phase: id, attempt, n });
}

/** Whether another phase with the same target is being merged, and so far without trouble. */
function trainIsTaken(state: RunState, id: string): boolean {
  const target = state.parents.get(id);
  for (const other of state.roster.underWay) {
    if (other === id || state.parents.get(other) !== target) continue;
    const phase = state.phases.get(other);
    if (phase === undefined || !isAttempt(phase)) continue;
    if (phase.step === "merging" && isMerging(state, other)) return true;
    const judged = phase.step === "verifying" || phase.step === "committing" ? phase.results : undefined;
    if (phase.merge !== undefined && judged?.every((result) => result.passed)) return true;
  }
  return false;
}

const isMerging = ({ inFlight }: RunState, phase: string): boolean =>
  [...inFlight.values()].some((command) => command.type === "merge-phase" && command.phase === phase);

export type MergeRepair = { type: "repair" } | { type: "wait" } | { type: "decided"; decision: Decision };

/** A conflict, or gates that fail on the merged state: sessions in the worktree, then a person. */
export function repairMerge(
  state: RunState,
  id: string,
  phase: Verifying,
  failing: readonly GateResult[],
): MergeRepair {
  const { merge, remediations, attempt, worktree } = phase;
  const tries = remediations - (merge?.repairsBefore ?? 0);
  if (tries < Math.max(1, state.config.max_remediations)) return { type: "repair" };
  const question = commandId(id, attempt, "merge", phase.merges, `r${remediations}`, `e${state.epoch}`);
  const known = state.questions.get(question);
  const what = failing.map((result) => `${result.name} (${result.why})`).join(", ");
  if (known === undefined) {
    const text = `Phase ${id} passed alone but cannot be merged after ${tries} attempts to repair it: ${what}. Its worktree: ${worktree?.folder}`;
    const { ask_timeout_minutes: minutes } = state.config;
    const choices = MERGE_CHOICES;
    return {
      type: "decided",
      decision: conclude({
        type: "question-asked",
        question,
        kind: "merge",
        phase: id,
        text,
        choices,
        fallback: "leave",
        minutes,
      }),
    };
  }
  if (known.answer === undefined) return { type: "wait" };
  if (known.answer.choice === "retry") return { type: "repair" };
  const message = `Phase ${id} passed alone but is not merged: ${what}. Its work is on ${worktree?.branch}, in ${worktree?.folder}. Repair it there if you like, then: segno resume ${state.run}`;
  return {
    type: "decided",
    decision: failPhase(id, attempt, { category: "merge_conflict", message, recommendation: "ask" }),
  };
}

export function mergeBegun(state: Folding, event: FactOf<"merge-begun">): void {
  const phase = state.phases.get(event.phase);
  if (phase?.step !== "merging") return;
  const { base, tip, conflicts, sharing } = event;
  const conflicted: GateResult = {
    gate: CONFLICTS,
    name: "no conflict is left",
    passed: false,
    why: `conflicts in ${conflicts.slice(0, 5).join(", ")}${conflicts.length > 5 ? " and more" : ""}`,
    output: "sha256:",
  };
  setPhase(state, event.phase, {
    ...phase,
    step: "verifying",
    results: conflicts.length > 0 ? [conflicted] : [],
    merges: phase.merges + 1,
    merge: { base, tip, conflicts, sharing, repairsBefore: phase.remediations },
  });
}

export function phaseMerged(state: Folding, event: FactOf<"phase-merged">): void {
  const phase = state.phases.get(event.phase);
  if (phase?.step !== "merging") return;
  const { sha, files } = event;
  setPhase(state, event.phase, { ...phase, merges: phase.merges + 1, merged: sha, commits: [...phase.commits, sha] });
  if (event.into === state.branch) state.head = sha;
  (state.merged as Map<string, readonly string[]>).set(event.phase, files);
}

export function mergeFailed(state: Folding, { phase: id, why }: FactOf<"merge-failed">): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "merging") return;
  const commitFailure = { category: "merge_conflict", message: why, recommendation: "ask" } as const;
  setPhase(state, id, { ...phase, merges: phase.merges + 1, commitFailure });
}
