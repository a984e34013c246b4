/** A plan file and what it links to → a `Plan`, or diagnostics that say where and what to do. */
import { readMaster, readPhases } from "./formats/master.js";
import { findCycle } from "./graph.js";
import type { Diagnostic, ParsedPlan, Phase, ReadPlanFile } from "./model.js";

export const SMALLEST_PLAN = `# My plan

| Phase | Title | Status |
| --- | --- | --- |
| 1 | [First step](phase-1.md) | Pending |

and beside it phase-1.md:

# Phase 1: First step

**Status:** Pending
**Depends On:** None

## Gates
- tests: all pass (command: \`npm test\`)

## Tasks
- [ ] 1.1: Create \`hello.txt\``;

export function parsePlan(file: string, read: ReadPlanFile): ParsedPlan {
  const source = read(file);
  if (source === undefined) {
    return failed({
      file,
      line: 1,
      message: "There is no such file.",
      fix: "Check the path; it counts from where you are.",
    });
  }
  if (source.trim() === "") {
    return failed({
      file,
      line: 1,
      message: "The plan is empty.",
      fix: `The smallest plan that works:\n\n${SMALLEST_PLAN}`,
    });
  }
  const master = readMaster(source);
  if (master === undefined) {
    return failed({
      file,
      line: 1,
      message: "This is no plan that Segno knows: it looked for a table of phases with links to phase files.",
      fix: `The smallest plan that works:\n\n${SMALLEST_PLAN}`,
    });
  }
  const { phases, diagnostics } = readPhases(file, master, read);
  diagnostics.push(...judgePhases(phases, file));
  if (diagnostics.some((diagnostic) => diagnostic.severity === "error")) return { ok: false, diagnostics };
  const files = [...new Set([file, ...phases.map((phase) => phase.file)])];
  return { ok: true, plan: { title: master.title, goal: master.goal, file, files, phases }, diagnostics };
}

const failed = (diagnostic: Omit<Diagnostic, "severity">): ParsedPlan => ({
  ok: false,
  diagnostics: [{ severity: "error", ...diagnostic }],
});

function judgePhases(phases: readonly Phase[], file: string): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  const ids = new Set<string>();
  for (const phase of phases) {
    if (ids.has(phase.id)) {
      diagnostics.push({
        severity: "error",
        file,
        line: phase.line,
        message: `Two phases have the id ${phase.id}.`,
        fix: "Give each phase an id of its own.",
      });
    }
    ids.add(phase.id);
  }
  for (const phase of phases) diagnostics.push(...judgePhase(phase, ids));
  const cycle = findCycle(phases);
  if (cycle !== undefined) {
    const first = phases.find((phase) => phase.id === cycle[0]);
    diagnostics.push({
      severity: "error",
      file: first?.file ?? file,
      line: first?.line ?? 1,
      message: `The phases wait for each other in a circle: ${cycle.join(" → ")}.`,
      fix: "Remove one of these dependencies.",
    });
  }
  return diagnostics;
}

function judgePhase(phase: Phase, ids: ReadonlySet<string>): Diagnostic[] {
  const { file, line } = phase;
  const diagnostics: Diagnostic[] = phase.dependsOn
    .filter((id) => !ids.has(id))
    .map((id) => ({
      severity: "error",
      file,
      line,
      message: `Phase ${phase.id} depends on phase ${id}, which is not in the plan.`,
      fix: `Known phases: ${[...ids].join(", ")}.`,
    }));
  if (phase.gates.length === 0) {
    diagnostics.push({
      severity: "warning",
      file,
      line,
      message: `Phase ${phase.id} has no gate: it will be reported as unverified.`,
      fix: "Add a `## Gates` section: - tests: all pass (command: `npm test`)",
    });
  }
  if (phase.tasks.length === 0) {
    diagnostics.push({
      severity: "warning",
      file,
      line,
      message: `Phase ${phase.id} has no task: its whole text is the task.`,
      fix: "Add checkboxes under `## Tasks`, so that progress can be followed and handed over.",
    });
  }
  return diagnostics;
}
