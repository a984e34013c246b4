/** Whether something other than its agent says that a phase is done: its gates, or a session that judged it. */
import type { Attempt, GateResult } from "./phase.js";

export function isVerified({ judged }: Attempt, results: readonly GateResult[]): boolean {
  if (judged.accepted) return false;
  if (results.length > 0) return results.every((result) => result.passed);
  return judged.reviewed !== undefined && judged.reviewed.length > 0 && judged.reviewed.every(({ passed }) => passed);
}
