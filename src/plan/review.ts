/** What an independent session judges a phase by. */
import type { Phase } from "./model.js";

const FIELD = /^\s*(?:[-*+]\s+)?\*\*verify(?::\*\*|\*\*:)\s*`?agent\b/im;

/** `**Verify:** agent` in a phase's own text: whatever the configuration says. */
export const wantsReview = ({ text }: Pick<Phase, "text">): boolean => FIELD.test(text);

/** Its criteria; where the plan has none, its tasks; and where it has no tasks, what it is called. */
export function criteriaOf({ criteria, tasks, title }: Pick<Phase, "criteria" | "tasks" | "title">): string[] {
  if (criteria.length > 0) return criteria;
  if (tasks.length > 0) return tasks.map((task) => `Task ${task.id} is done: ${task.title}`);
  return [`What the phase asks for is done: ${title}`];
}
