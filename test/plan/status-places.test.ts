/** Odd places of a status that random documents found: written there, it is read again. */
import { expect, test } from "vitest";
import type { Plan } from "../../src/plan/model.js";
import { parsePlan } from "../../src/plan/parse.js";
import { markPlanFile } from "../../src/plan/write-back.js";

const read = (text: string): Plan | undefined =>
  parsePlan("PLAN.md", (path) => (path === "PLAN.md" ? text : undefined), {}).plan;

const STORY = "## Story\n\nAs a user.\n\n## Tasks / Subtasks\n\n- [ ] Task 1: The token\n";

test("a heading that is a title only with its tag stays what it was", () => {
  const source = "# F\n\n### Task 1:\n\n- [ ] a\n\n### Task 1:\n\n- [ ] b\n";
  const plan = read(source);
  if (plan === undefined) throw new Error("no plan");
  const [first, second] = plan.phases;
  const failed = markPlanFile(plan, "PLAN.md", source, { phase: first?.id ?? "", status: "failed", tasksDone: [] });
  expect(failed).toContain("[FAILED]");
  expect(read(failed)?.format).toBe(plan.format);
  expect(read(failed)?.phases.map(({ id, mark }) => [id, mark])).toEqual([
    [first?.id, "failed"],
    [second?.id, undefined],
  ]);
});

test.each([
  ["above the title", `**Status:** \n# Story 2.3: Reset\n\n${STORY}`],
  ["right behind a bullet", `# Story 2.3: Reset\n\n  - [ ] n\nStatus: ready-for-dev\n\n${STORY}`],
  ["right above a rule", `# Story 2.3: Reset\n\nStatus: ready-for-dev\n---\n\n${STORY}`],
  ["right above a double line", `# Story 2.3: Reset\n\nStatus: ready-for-dev\n===\n${STORY}`],
  ["right behind its label", "# Plan\n\n## Phase 1: One\n\n**Status:**# Pending\n\n- [ ] 1.1: do it\n"],
])("a status %s", (_, source) => {
  const plan = read(source);
  if (plan === undefined) throw new Error("no plan");
  const [phase] = plan.phases;
  const tasksDone = phase?.tasks.map(({ id }) => id) ?? [];
  const marked = markPlanFile(plan, "PLAN.md", source, { phase: phase?.id ?? "", status: "done", tasksDone });
  expect(marked).not.toBe(source);
  expect(read(marked)?.phases[0]?.mark).toBe("done");
});
