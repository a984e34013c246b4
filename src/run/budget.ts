/** What a run may use, and how much of it is used. */
import type { Fact } from "./event.js";
import type { RunState } from "./state.js";

export interface BudgetUse {
  name: string;
  used: number;
  most: number;
  words: string;
}

/** Hours the run has worked: time in which the machine slept or nobody held the run does not count. */
export const hoursOf = ({ startedAt, now, atRest }: Pick<RunState, "startedAt" | "now" | "atRest">): number =>
  Math.max(0, Date.parse(now) - Date.parse(startedAt) - atRest) / 3_600_000;

export function budgetUse(state: RunState): BudgetUse[] {
  const { max_tokens, max_cost_usd, max_hours } = state.config;
  const { tokens, cost } = state.spent;
  const hours = hoursOf(state);
  const uses: BudgetUse[] = [
    { name: "max_tokens", used: tokens, most: max_tokens, words: `${tokens} of ${max_tokens} tokens` },
    { name: "max_hours", used: hours, most: max_hours, words: `${hours.toFixed(1)} of ${max_hours} hours` },
  ];
  if (cost !== undefined)
    uses.push({
      name: "max_cost_usd",
      used: cost,
      most: max_cost_usd,
      words: `$${cost.toFixed(2)} of $${max_cost_usd}`,
    });
  return uses;
}

const WARN = 0.8;

export const budgetWarnings = (state: RunState): string[] =>
  budgetUse(state)
    .filter(({ used, most }) => used >= most * WARN && used < most)
    .map(({ name, most }) => `More than 80 % of the run's budget is used (${name}: ${most}).`);

/** The stop that follows when it is used up; the same rule between sessions and at every boundary inside one. */
export function budgetStop(state: RunState): Fact | undefined {
  if (state.stopping !== undefined) return undefined;
  const reached = budgetUse(state).find(({ used, most }) => used >= most);
  if (reached === undefined) return undefined;
  return { type: "stop-requested", by: `the run's budget (${reached.name}: ${reached.words})`, cause: "budget" };
}
