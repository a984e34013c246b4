/** What keeps a phase that is called completed from being done: gates, tasks not reported, criteria that a review refused. */
import type { Attempt, GateResult } from "./phase.js";

export function failingIn({ judged }: Pick<Attempt, "judged">, results: readonly GateResult[]): GateResult[] {
  const unreported = judged.inspected?.unreported ?? [];
  const refused = (judged.reviewed ?? []).filter((verdict) => !verdict.passed);
  const failed = (gate: string, name: string, why: string): GateResult => ({
    gate,
    name,
    passed: false,
    why,
    output: "",
  });
  return [
    ...results.filter((result) => !result.passed),
    ...(unreported.length === 0
      ? []
      : [failed("tasks", "tasks reported as done", `not reported: ${unreported.join(", ")}`)]),
    ...refused.map(({ criterion, why }) => failed(`criterion: ${criterion}`, criterion, why)),
  ];
}

/** Gates count what they complain about; everything else counts once. */
export const issuesOf = (failing: readonly GateResult[]): number =>
  failing.reduce((sum, { issues = 1 }) => sum + issues, 0);
