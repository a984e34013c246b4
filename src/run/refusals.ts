/** Tools that the agent was not allowed to use, counted since its last finished task: a phase that gets nowhere for it says so. */
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import type { FailureCategory, PhaseFailure } from "./outcome.js";
import { type Attempt, changeAttempt, revise } from "./phase.js";
import type { RunState } from "./state.js";

export function toolRefused(state: Folding, { phase, tool }: FactOf<"tool-refused">): void {
  changeAttempt(state, phase, (attempt) => {
    const { refused } = attempt.trouble;
    return revise(attempt, "trouble", { refused: { ...refused, [tool]: (refused[tool] ?? 0) + 1 } });
  });
}

/** What would allow a tool, in words. */
export const howToAllow = (tool: string, { config }: Pick<RunState, "config">): string =>
  `permission_mode: ${config.permission_mode ?? "listed"} does not let the agent use ${tool}: list it in allowed_tools, allow it in the agent's own settings, or choose permission_mode: all`;

const GETS_NOWHERE: ReadonlySet<FailureCategory> = new Set(["agent_error", "context_exhaustion", "stuck"]);

/** The failure, with what was refused as its reason where that may be it. */
export function withRefusals(state: RunState, { trouble }: Attempt, failure: PhaseFailure): PhaseFailure {
  const refused = Object.entries(trouble.refused);
  const [most] = refused.toSorted(([, a], [, b]) => b - a);
  if (most === undefined || !GETS_NOWHERE.has(failure.category)) return failure;
  const counts = refused.map(([tool, times]) => `${tool} (${times} times)`).join(", ");
  return {
    category: "tools_refused",
    message: `${failure.message} Before that it was refused ${counts}: ${howToAllow(most[0], state)}.`,
    recommendation: "ask",
  };
}
