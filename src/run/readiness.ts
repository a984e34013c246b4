/**
 * Who waits, who is ready, who is under way: kept up to date with each change of a phase, so that deciding looks at
 * what changed and not at the whole plan.
 */
import type { Phase, Plan } from "../plan/model.js";
import type { Folding } from "./folding.js";
import type { PhaseState } from "./phase.js";

/** Which phases wait, are ready, are under way. */
export interface Readiness {
  planned: Map<string, Phase>;
  /** Places in the plan. */
  order: Map<string, number>;
  dependents: Map<string, string[]>;
  /** How many dependencies of a phase are not satisfied. */
  waitsFor: Map<string, number>;
  /** Phases that wait for nothing but their turn, in the plan's order. */
  ready: string[];
  underWay: Set<string>;
  failed: Set<string>;
  satisfied: number;
}

export const isSatisfied = (phase: PhaseState | undefined): boolean =>
  phase?.step === "done" || phase?.step === "skipped";

export const isUnderWay = (phase: PhaseState): boolean =>
  phase.step !== "waiting" && phase.step !== "done" && phase.step !== "failed" && phase.step !== "skipped";

export function readinessOf(plan: Plan, phases: ReadonlyMap<string, PhaseState>): Readiness {
  const readiness: Readiness = {
    planned: new Map(plan.phases.map((phase) => [phase.id, phase])),
    order: new Map(plan.phases.map(({ id }, index) => [id, index])),
    dependents: new Map(),
    waitsFor: new Map(),
    ready: [],
    underWay: new Set(),
    failed: new Set(),
    satisfied: 0,
  };
  for (const { id, dependsOn } of plan.phases) {
    const open = [...new Set(dependsOn)];
    for (const other of open) readiness.dependents.set(other, [...(readiness.dependents.get(other) ?? []), id]);
    readiness.waitsFor.set(id, open.filter((other) => !isSatisfied(phases.get(other))).length);
    const phase = phases.get(id);
    if (phase === undefined) continue;
    if (isSatisfied(phase)) readiness.satisfied++;
    if (phase.step === "failed") readiness.failed.add(id);
    if (isUnderWay(phase)) readiness.underWay.add(id);
    if (phase.step === "waiting" && readiness.waitsFor.get(id) === 0) readiness.ready.push(id);
  }
  return readiness;
}

/** The only way to change a phase. */
export function setPhase(state: Folding, id: string, phase: PhaseState): void {
  const before = state.phases.get(id);
  state.phases.set(id, phase);
  if (before?.step === phase.step) return;
  const { readiness } = state;
  mark(readiness.failed, id, phase.step === "failed");
  mark(readiness.underWay, id, isUnderWay(phase));
  place(readiness, id, phase.step === "waiting" && readiness.waitsFor.get(id) === 0);
  const change = Number(isSatisfied(phase)) - Number(isSatisfied(before));
  if (change === 0) return;
  readiness.satisfied += change;
  for (const other of readiness.dependents.get(id) ?? []) {
    const left = (readiness.waitsFor.get(other) ?? 0) - change;
    readiness.waitsFor.set(other, left);
    place(readiness, other, left === 0 && state.phases.get(other)?.step === "waiting");
  }
}

function mark(set: Set<string>, id: string, isIn: boolean): void {
  if (isIn) set.add(id);
  else set.delete(id);
}

/** Puts an id among the ready ones, or takes it away. */
function place({ ready, order }: Readiness, id: string, isIn: boolean): void {
  const at = order.get(id) ?? 0;
  let [from, to] = [0, ready.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((order.get(ready[middle] as string) ?? 0) < at) from = middle + 1;
    else to = middle;
  }
  const there = ready[from] === id;
  if (isIn && !there) ready.splice(from, 0, id);
  else if (!isIn && there) ready.splice(from, 1);
}

/** Phases that are done, of those that are to be done. */
export function phasesDone({ phases }: { phases: ReadonlyMap<string, PhaseState> }): { done: number; total: number } {
  const counted = [...phases.values()].filter((phase) => phase.step !== "skipped");
  return { done: counted.filter((phase) => phase.step === "done").length, total: counted.length };
}
