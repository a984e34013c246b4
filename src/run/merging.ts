/**
 * The merge train: finished phases come from their worktrees to the run's branch (sub-phases: to their phase's). Each is
 * coupled behind those that are on their way already, and judged together with them in its own worktree, all at the same
 * time. One whose turn it is lands; one that fails, once it is known that those before it do not, leaves the train for its
 * repair, and only those behind it are taken in anew. What is on the branch has always passed.
 *
 *   merging ─ taken in ─▶ verifying(merge) ─ gates pass ─▶ merging(tested) ─ those before it have landed ─▶ merged
 *      ▲                    │ one before it left: taken in anew     │
 *      │                    └──────────────┬────────────────────────┘
 *      └─ repaired ◀─ fails, or conflicts, with all before it landed
 */
import type { Gate, GateCheck } from "../plan/model.js";
import { commandId } from "./command.js";
import { conclude, type Decision, failPhase, perform, skipPhase } from "./decision.js";
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import {
  type Attempt,
  type GateResult,
  HUMAN,
  isAttempted,
  type Merge,
  type PhaseState,
  revise,
  verifying,
} from "./phase.js";
import { anew, ask } from "./questions.js";
import { setPhase } from "./readiness.js";
import { phaseOf, type RunState } from "./state.js";
import { isVerified } from "./verified.js";

type Merging = Extract<PhaseState, { step: "merging" }>;
type Verifying = Extract<PhaseState, { step: "verifying" }>;

const CONFLICTS = "merge:conflicts";

export const hasConflict = (results: readonly GateResult[]): boolean =>
  results.some(({ gate, passed }) => gate === CONFLICTS && !passed);

/** What must pass: a gate of the plan, or that no conflict is left. */
export interface GateToPass extends Omit<Gate, "check"> {
  check: GateCheck | { type: "resolved"; paths: readonly string[] };
}

/** Phases that are merged, or come before it in the train, and whose gates count for this one, too. */
export function sharingWith(state: RunState, phase: string, files: readonly string[], behind?: string): string[] {
  const own = new Set(files);
  const { config } = state;
  return [...state.merged, ...carsBefore(state, behind)]
    .filter(([id, changed]) => id !== phase && (config.merge_gates === "all" || changed.some((file) => own.has(file))))
    .map(([id]) => id);
}

/** Those that are on their way before it, with what they change. */
export function carsBefore(state: RunState, last: string | undefined): [string, readonly string[]][] {
  const cars: [string, readonly string[]][] = [];
  for (let id = last; id !== undefined && cars.length < state.phases.size; ) {
    const phase = state.phases.get(id);
    const merge = isAttempted(phase) ? phase.attempt.train.merge : undefined;
    if (merge !== undefined) cars.unshift([id, merge.files]);
    id = merge?.behind;
  }
  return cars;
}

/** The gates of a phase; in a merged state also those of merged phases that touched the same files. */
export function gatesToPass(state: RunState, id: string, { train }: Pick<Attempt, "train">): GateToPass[] {
  const { merge } = train;
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
    for (const gate of state.readiness.planned.get(other)?.gates ?? []) take(gate, `${other}/${gate.id}`);
  return gates;
}

/** Targets to which a merge was decided in the same pass: at most one is under way per target. */
export type TrainsTaken = Set<string | undefined>;

export function decideMerging(state: RunState, id: string, phase: Merging, taken: TrainsTaken): Decision | undefined {
  const { attempt, results } = phase;
  const { number, train, commits, progress } = attempt;
  if (train.merged !== undefined) {
    const verified = isVerified(
      attempt,
      results.filter(({ gate }) => gate !== CONFLICTS),
    );
    return conclude({ type: "phase-done", phase: id, attempt: number, verified, tasksDone: progress.tasksDone });
  }
  if (attempt.skipping) return skipPhase(id);
  if (commits.failure !== undefined) return failPhase(id, number, commits.failure);
  const { merge } = train;
  if (merge === undefined || hasLost(state, merge)) return takeIn(state, id, attempt, taken);
  return hasLanded(state, merge) ? mergeWith(state, id, attempt, taken, { lands: merge.candidate }) : undefined;
}

/** Whether what it was taken in behind is on the branch: what is found out about it then is about itself. */
export const hasLanded = ({ mergedAs }: RunState, { behind, base }: Merge): boolean =>
  behind === undefined || mergedAs.get(behind) === base;

/** Whether the one before it left the train, or was taken in anew: what was tested with it says nothing any more. */
export function hasLost(state: RunState, merge: Merge): boolean {
  if (hasLanded(state, merge)) return false;
  const before = state.phases.get(merge.behind ?? "");
  return !isAttempted(before) || before.attempt.train.merge?.candidate !== merge.base;
}

/** Takes it in behind the last one that is still on its way. */
export const takeIn = (state: RunState, id: string, attempt: Attempt, taken: TrainsTaken): Decision | undefined =>
  mergeWith(state, id, attempt, taken, { onto: lastCar(state, id) });

function mergeWith(
  state: RunState,
  id: string,
  { number, train }: Attempt,
  taken: TrainsTaken,
  how: { onto?: { phase: string; commit: string } | undefined; lands?: string | undefined },
): Decision | undefined {
  const target = state.parents.get(id);
  if (taken.has(target) || isMergingTo(state, target)) return undefined;
  taken.add(target);
  const n = train.merges + 1;
  return perform({ type: "merge-phase", id: commandId(id, number, "merge", n), phase: id, attempt: number, n, ...how });
}

const isMergingTo = ({ inFlight, parents }: RunState, target: string | undefined): boolean =>
  [...inFlight.values()].some((command) => command.type === "merge-phase" && parents.get(command.phase) === target);

/** The last of those that follow each other to the branch, as far as none of them is known to fail. */
function lastCar(state: RunState, id: string): { phase: string; commit: string } | undefined {
  const target = state.parents.get(id);
  const cars = [...state.readiness.underWay].flatMap((other) => {
    const phase = state.phases.get(other);
    if (other === id || state.parents.get(other) !== target || !isAttempted(phase)) return [];
    const { merge } = phase.attempt.train;
    const fails = state.gates === "block" && "results" in phase && phase.results.some((result) => !result.passed);
    return merge?.candidate === undefined || fails ? [] : [{ phase: other, commit: merge.candidate, merge }];
  });
  let last: { phase: string; commit: string } | undefined;
  for (let left = cars.length; left > 0; left--) {
    const next = cars.find(({ merge }) =>
      last === undefined ? hasLanded(state, merge) : merge.behind === last.phase && merge.base === last.commit,
    );
    if (next === undefined) break;
    last = { phase: next.phase, commit: next.commit };
  }
  return last;
}

/** As many repairs again as before; its gates are run by decisions of their own. */
export function retryMerge(attempt: Attempt): Attempt {
  const { merge, merges } = attempt.train;
  if (merge === undefined) return attempt;
  return revise(attempt, "train", { merge: { ...merge, repairsBefore: attempt.repairs.count }, merges: merges + 1 });
}

/** A conflict, or gates that fail on the merged state: sessions in the worktree, then a person. */
export function repairMerge(
  state: RunState,
  id: string,
  { attempt }: Verifying,
  failing: readonly GateResult[],
): Decision | "repair" | undefined {
  const { train, repairs, origin, number } = attempt;
  const tries = repairs.count - (train.merge?.repairsBefore ?? 0);
  if (tries < Math.max(1, state.config.max_remediations)) return "repair";
  const what = failing.map((result) => `${result.name} (${result.why})`).join(", ");
  const where = `Its work is on ${origin.worktree?.branch}; git worktree list shows where that is checked out.`;
  const asked = ask(state, {
    kind: "merge",
    id: commandId(id, number, "merge", train.merges, `r${repairs.count}`, anew(state)),
    phase: id,
    text: `Phase ${id} passed alone but cannot be merged after ${tries} attempts to repair it: ${what}. ${where}`,
  });
  if (asked.type === "asks") return asked.decision;
  if (asked.type === "waits") return undefined;
  if (asked.choice === "retry") return "repair";
  const message = `Phase ${id} passed alone but is not merged: ${what}. ${where} Repair it there if you like, then: segno resume ${state.run}`;
  return failPhase(id, number, { category: "merge_conflict", message, recommendation: "ask" });
}

export function mergeBegun(state: Folding, event: FactOf<"merge-begun">): void {
  const phase = state.phases.get(event.phase);
  if (phase?.step !== "merging" && phase?.step !== "verifying") return;
  const { base, tip, behind, candidate, conflicts, sharing, files = [] } = event;
  const conflicted: GateResult = {
    gate: CONFLICTS,
    name: "no conflict is left",
    passed: false,
    why: `conflicts in ${conflicts.slice(0, 5).join(", ")}${conflicts.length > 5 ? " and more" : ""}`,
    output: "sha256:",
  };
  const { attempt } = phase;
  const repairsBefore = attempt.repairs.count;
  const alone = resultsAlone(phase);
  const merge: Merge = { base, tip, behind, candidate, tested: false, alone, files, conflicts, sharing, repairsBefore };
  const begun = revise(attempt, "train", { merges: attempt.train.merges + 1, merge });
  const seen = seenByPerson(state, event.phase, alone);
  setPhase(state, event.phase, verifying(begun, conflicts.length > 0 ? [...seen, conflicted] : seen));
}

/** What its gates said of the phase before it was taken in. */
const resultsAlone = ({ attempt, results }: Merging | Verifying): GateResult[] => attempt.train.merge?.alone ?? results;

/** It has to be taken in anew; what was tested and kept elsewhere still counts. */
export function mergeLost(state: Folding, { phase: id, mergeLost: lost }: FactOf<"checkout-remade">): void {
  const phase = state.phases.get(id);
  if (lost !== true || !isAttempted(phase) || phase.step === "merging") return;
  const { merge } = phase.attempt.train;
  if (merge === undefined) return;
  const attempt = revise(phase.attempt, "train", { merge: undefined });
  setPhase(state, id, { step: "merging", attempt, results: merge.alone });
}

export function mergeTested(state: Folding, { phase: id, candidate }: FactOf<"merge-tested">): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "verifying") return;
  const { merge } = phase.attempt.train;
  if (merge?.candidate !== candidate) return;
  const attempt = revise(phase.attempt, "train", { merge: { ...merge, tested: true } });
  setPhase(state, id, { step: "merging", attempt, results: phase.results });
}

/** What a person looked at and accepted is not asked again because others were merged: their word stays. */
function seenByPerson({ readiness }: Folding, id: string, results: readonly GateResult[]): GateResult[] {
  const manual = readiness.planned.get(id)?.gates.filter(({ check }) => check.type === "manual") ?? [];
  const ids = new Set([HUMAN, ...manual.map((gate) => gate.id)]);
  return results.filter(({ gate, passed }) => passed && ids.has(gate));
}

export function phaseMerged(state: Folding, { phase: id, sha, files, into }: FactOf<"phase-merged">): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "merging" && phase?.step !== "verifying") return;
  const { train, commits } = phase.attempt;
  const merged = revise(phase.attempt, "train", { merges: train.merges + 1, merged: sha });
  const attempt = revise(merged, "commits", { made: [...commits.made, sha] });
  // What was tested with others and landed without them is what it was alone.
  const results = train.merge?.candidate === sha ? phase.results : resultsAlone(phase);
  setPhase(state, id, { step: "merging", attempt, results });
  if (into === state.branch) state.head = sha;
  state.merged.set(id, files);
  state.mergedAs.set(id, sha);
}

export function mergeFailed(state: Folding, { phase: id, why }: FactOf<"merge-failed">): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "merging" && phase?.step !== "verifying") return;
  const failure = { category: "merge_conflict", message: why, recommendation: "ask" } as const;
  const tried = revise(phase.attempt, "train", { merges: phase.attempt.train.merges + 1, merge: undefined });
  const attempt = revise(tried, "commits", { failure });
  setPhase(state, id, { step: "merging", attempt, results: resultsAlone(phase) });
}
