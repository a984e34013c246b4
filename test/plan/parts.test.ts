/** Sub-phases written under their phase, in every form of plan: nothing else of the plan reads differently. */
import { describe, expect, test } from "vitest";
import { parsePlan } from "../../src/plan/parse.js";
import { partsIn } from "../../src/plan/write-parts.js";
import { PLANS } from "../support/plan-texts.js";

const read = (source: string) => parsePlan("PLAN.md", (path) => (path === "PLAN.md" ? source : undefined));

const shape = (source: string) =>
  read(source).plan?.phases.map(({ id, title, dependsOn, tasks, gates }) => ({
    id,
    title,
    dependsOn,
    tasks: tasks.map((task) => [task.id, task.title, task.ticked]),
    gates: gates.map((gate) => [gate.id, gate.check]),
  }));

const part = (id: string, tasks: string[], status: string) => ({
  id,
  title: `Part - [ ] ${id}\n# no heading`,
  tasks,
  status,
});

describe.each(Object.entries(PLANS))("%s", (_, source) => {
  const { plan } = read(source);

  test("gets them under each of its phases, reads as before, and is written over, not twice", () => {
    expect(plan).toBeDefined();
    if (plan === undefined) return;
    let written = 0;
    for (const { id } of plan.phases) {
      const first = partsIn(plan, "PLAN.md", source, id, [
        part(`${id}a`, ["x"], "Pending"),
        part(`${id}b`, ["y"], "Pending"),
      ]);
      expect(shape(first)).toEqual(shape(source));
      if (first === source) continue;
      written++;
      expect(first).toContain(`> ${id}a Part - [ ] ${id}a # no heading (x): Pending`);
      const second = partsIn(plan, "PLAN.md", first, id, [
        part(`${id}a`, ["x"], "Done"),
        part(`${id}b`, ["y"], "Done"),
      ]);
      expect(second.replaceAll(": Done", ": Pending")).toBe(first);
      expect(second.split("**Split by Segno:**")).toHaveLength(2);
      // Nothing of what the user wrote is gone.
      for (const line of source.split("\n")) expect(second).toContain(line);
    }
    expect(written).toBeGreaterThan(0);
  });
});
