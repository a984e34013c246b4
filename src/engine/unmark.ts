/** Plan files without the marks of some phases: what is taken back in git is open again in the plan. */
import type { Git } from "../git/git.js";
import { mergeText } from "../git/merge-text.js";
import type { Phase, Plan } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";
import { markPlanFile } from "../plan/write-back.js";
import type { RunState } from "../run/state.js";
import { planOptions } from "./plan-options.js";

/** Files whose text is to change, with that text. What the user wrote into them since stays. */
export async function plansWithout(
  git: Git,
  { plan, config, format }: RunState,
  base: string,
  undone: readonly string[],
): Promise<Map<string, string>> {
  const at = new Map<string, string>();
  for (const file of plan.files) {
    const text = await git.attempt(["cat-file", "blob", `HEAD:${file}`]);
    if (text.ok) at.set(file, text.stdout);
  }
  const parsed = parsePlan(
    plan.file,
    (file) => at.get(file) ?? { problem: "it is not there" },
    planOptions(config, format),
  );
  if (!parsed.ok) return new Map();
  const kept = parsed.plan.phases.filter(({ id }) => !undone.includes(id));
  const plans = new Map<string, string>();
  for (const [file, now] of at) {
    const before = await git.attempt(["cat-file", "blob", `${base}:${file}`]);
    if (!before.ok) continue;
    const all = withMarks(parsed.plan, file, before.stdout, parsed.plan.phases);
    const without = withMarks(parsed.plan, file, before.stdout, kept);
    const text = all === now ? without : await mergeText(git, now, all, without);
    if (text !== undefined && text !== now) plans.set(file, text);
  }
  return plans;
}

function withMarks(plan: Plan, file: string, text: string, phases: readonly Phase[]): string {
  let marked = text;
  for (const { id, mark, tasks } of phases) {
    const tasksDone = tasks.filter((task) => task.ticked).map((task) => task.id);
    if (mark !== undefined || tasksDone.length > 0)
      marked = markPlanFile(plan, file, marked, { phase: id, status: mark, tasksDone });
  }
  return marked;
}
