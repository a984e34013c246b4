import { describe, expect, test } from "vitest";
import { FORMS } from "../../src/plan/forms.js";
import { wavesOf } from "../../src/plan/graph.js";
import type { Plan, PlanOptions } from "../../src/plan/model.js";
import { parsePlan } from "../../src/plan/parse.js";
import { selectPhases } from "../../src/plan/select.js";
import { markPlanFile } from "../../src/plan/write-back.js";
import { PLANS } from "../support/plan-texts.js";

function planOf(source: string, options: PlanOptions = {}): Plan {
  const parsed = parsePlan("PLAN.md", (path) => (path === "PLAN.md" ? source : undefined), options);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics, null, 1));
  return parsed.plan;
}
const brief = (plan: Plan) => plan.phases.map(({ id, title, dependsOn }) => [id, title, dependsOn.join(" ")]);
const commands = (plan: Plan) =>
  plan.phases.map((phase) => phase.gates.map(({ check }) => (check.type === "command" ? check.command : check.type)));

describe("a phase file alone", () => {
  test("is a plan of one phase, with its notes, files, criteria and what to read first; its wrapper's code is no gate", () => {
    const plan = planOf(PLANS.phaseFile);
    expect(plan.format).toBe("phase-file");
    expect(brief(plan)).toEqual([["6", "Context watching", ""]]);
    const [phase] = plan.phases;
    expect(phase?.tasks.map((task) => task.id)).toEqual(["6A.1", "6A.2.1", "6A.2.2", "6B.1"]);
    expect(phase?.gates.map(({ name, check }) => [name, check])).toEqual([
      ["note notes/NOTES_6.md", { type: "file", path: "notes/NOTES_6.md" }],
      ["lint", { type: "command", command: "npm run lint" }],
      ["tests", { type: "command", command: "npm test" }],
    ]);
    expect(phase?.readFirst).toEqual(["docs/FUTURE.md", "src/run.ts", "notes/NOTES_5.md"]);
    expect(phase?.files).toEqual(["src/estimate.ts", "test/estimate.test.ts"]);
    expect(phase?.criteria).toEqual(["It counts", "It stops"]);
  });

  test("gives its sub-phases as phases of their own where the user wants that", () => {
    expect(brief(planOf(PLANS.phaseFile, { subPhases: "separate" }))).toEqual([
      ["6A", "Estimation", ""],
      ["6B", "Capture", "6A"],
    ]);
  });

  test("below a master plan, too: the first waits for what the phase waits for, and others for the last; marks find their places", () => {
    const files: Record<string, string> = {
      "MASTER.md":
        "# Master\n\n| Phase | Title | Status |\n|---|---|---|\n| 5 | [Before](p5.md) | Pending |\n| 6 | [Watching](p6.md) | Pending |\n| 7 | [After](p7.md) | Pending |\n",
      "p5.md":
        "# Phase 5: Before\n\n**Status:** Pending\n\n## Gates\n\n- t: ok (command: `npm test`)\n\n## Tasks\n\n- [ ] 5.1: a\n",
      "p6.md": PLANS.phaseFile.replace("None (can run independently)", "[Phase 5](p5.md)"),
      "p7.md":
        "# Phase 7: After\n\n**Status:** Pending\n**Depends On:** [Phase 6](p6.md)\n\n## Gates\n\n- t: ok (command: `npm test`)\n\n## Tasks\n\n- [ ] 7.1: a\n",
    };
    const parsed = parsePlan("MASTER.md", (path) => files[path], { subPhases: "separate" });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics));
    const { plan } = parsed;
    expect(brief(plan)).toEqual([
      ["5", "Before", ""],
      ["6A", "Estimation", "5"],
      ["6B", "Capture", "6A"],
      ["7", "After", "6B"],
    ]);
    const mark = (file: string, phase: string, tasksDone: string[], completesFile: boolean) =>
      markPlanFile(plan, file, files[file] ?? "", { phase, status: "done", tasksDone, completesFile });
    const half = mark("p6.md", "6A", ["6A.1"], false);
    expect(half).toContain("- [x] Create `src/estimate.ts`");
    expect(half).toContain("**Status:** Pending");
    expect(mark("MASTER.md", "6A", [], false)).toBe(files["MASTER.md"]);
    expect(mark("p6.md", "6B", ["6B.1"], true)).toContain("**Status:** Completed");
    expect(mark("MASTER.md", "6B", [], true)).toMatch(/\| 6 \| \[Watching\]\(p6\.md\) \| Completed \|/);
  });

  test("how complex it is and how long it may take are read in every form; a test command that it names is its gate", () => {
    const source =
      "# Plan\n\n### Phase 1: One\n\n**Complexity:** High\n**Estimated time:** 2 hours\n\nRun `npm test -- --run` at the end.\n\n- [ ] a\n";
    const parsed = parsePlan("P.md", () => source);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics));
    expect(parsed.plan.phases[0]).toMatchObject({ complexity: "complex", estimate: "2 hours" });
    expect(commands(parsed.plan)).toEqual([["npm test -- --run"]]);
    expect(parsed.diagnostics.map(({ message }) => message)).toContainEqual(
      expect.stringContaining("`npm test -- --run`, which the plan names, judges it"),
    );
  });

  test("takes dependencies on phases it does not contain as done, and says so", () => {
    const source = PLANS.phaseFile.replace("None (can run independently)", "[Phase 1](p1.md), [Phase 2](p2.md)");
    const parsed = parsePlan("PLAN.md", () => source);
    expect(parsed.ok && parsed.plan.phases[0]?.dependsOn).toEqual([]);
    expect(parsed.diagnostics).toContainEqual(
      expect.objectContaining({ severity: "warning", line: 5, message: expect.stringContaining("depends on 1, 2") }),
    );
  });

  test("a gate without a command is an error unless the configuration gives one or says manual", () => {
    const source = PLANS.phaseFile.replace("(command: `npm test`)", "~60 %");
    expect(parsePlan("P", () => source).ok).toBe(false);
    expect(commands(planOf(source, { gates: { tests: "npm run coverage" } }))).toEqual([
      ["file", "npm run lint", "npm run coverage"],
    ]);
    expect(commands(planOf(source, { gates: { tests: "manual" } }))).toEqual([["file", "npm run lint", "manual"]]);
  });
});

describe("one file with a heading per phase", () => {
  test("### Phase N: dependencies, marks, checkboxes; a test command named in the plan is every phase's gate", () => {
    const plan = planOf(PLANS.phases);
    expect(plan.format).toBe("phases");
    expect(brief(plan)).toEqual([
      ["1", "Setup", ""],
      ["2", "Core", "1"],
      ["3", "Docs", "1"],
      ["4", "Release", "1 2 3"],
    ]);
    expect(plan.phases.map((phase) => phase.mark)).toEqual(["done", undefined, undefined, undefined]);
    expect(commands(plan)).toEqual([["make test"], ["make test"], ["make test"], ["make test"]]);
    expect(plan.phases[1]?.tasks.map((task) => [task.id, task.title, task.ticked])).toEqual([
      ["2.1", "Write the core", true],
      ["2.2", "Test the core", false],
    ]);
    expect(wavesOf(plan.phases)).toEqual([["1"], ["2", "3"], ["4"]]);
  });

  test("waves order phases that name no dependency; without either they run as written", () => {
    const waved =
      "# P\n\n### Phase 1: A\n**Wave:** 1\n- [ ] a\n\n### Phase 2: B\n**Wave:** 1\n- [ ] b\n\n### Phase 3: C\n**Wave:** 2\n- [ ] c\n";
    expect(brief(planOf(waved)).map(([, , depends]) => depends)).toEqual(["", "", "1 2"]);
    expect(brief(planOf(waved.replaceAll(/\*\*Wave:\*\* \d\n/g, ""))).map(([, , depends]) => depends)).toEqual([
      "",
      "1",
      "2",
    ]);
  });

  test("### Task N with Goal, Depends on (ranges too), Changes, Verification in prose and Rollback", () => {
    const plan = planOf(PLANS.tasks);
    expect(plan.format).toBe("tasks");
    expect(brief(plan)).toEqual([
      ["1", "Add the type", ""],
      ["2", "Use it", "1"],
      ["3", "Prompts", ""],
      ["4", "Tests and cleanup", "1 2 3"],
    ]);
    expect(plan.phases.every((phase) => phase.gates.length === 0)).toBe(true);
    expect(plan.phases[1]?.text).toContain("Verification");
  });

  test("### Task N with checkboxes and Validation Commands, which are gates of every task", () => {
    const plan = planOf(PLANS.validated);
    expect(commands(plan)).toEqual([
      ["npm run build", "npm test"],
      ["npm run build", "npm test"],
    ]);
    expect(plan.phases.map((phase) => phase.tasks.map((task) => [task.id, task.ticked]))).toEqual([
      [
        ["1.1", true],
        ["1.2", true],
      ],
      [["2.1", false]],
    ]);
  });
});

describe("tagged tasks", () => {
  const plan = planOf(PLANS.tagged);

  test("each is a phase, in document order, with complexity, files and criteria", () => {
    expect(plan.format).toBe("tagged");
    expect(brief(plan)).toEqual([
      ["16-01", "Rewrite the section", ""],
      ["16-02", "Look at it", "16-01"],
    ]);
    expect(plan.phases.map((phase) => phase.complexity)).toEqual(["complex", "simple"]);
    expect(plan.phases[0]?.files).toEqual(["src/a.md"]);
  });

  test("a criterion's command is a gate judged by the number it prints; a type that asks for a human is a manual gate", () => {
    expect(plan.phases[0]?.gates.map((gate) => gate.check)).toEqual([
      { type: "command", command: 'grep -c "exceeds 40%" src/a.md', prints: { atLeast: false, number: 0 } },
      { type: "command", command: 'grep -c "warn" src/a.md', prints: { atLeast: true, number: 1 } },
      { type: "command", command: "make check", prints: undefined },
    ]);
    expect(plan.phases[1]?.gates.map((gate) => gate.check.type)).toEqual(["manual"]);
  });
});

describe("a plain checklist", () => {
  test("each heading with boxes is a phase, in order; boxes in code, comments and quotes are none", () => {
    const plan = planOf(PLANS.checklist, { testCommand: "npm test" });
    expect(plan.format).toBe("checklist");
    expect(brief(plan)).toEqual([
      ["1", "First things", ""],
      ["2", "Second things", "1"],
    ]);
    expect(plan.phases.map((phase) => phase.tasks.map((task) => task.title))).toEqual([
      ["one", "two", "nested"],
      ["three"],
    ]);
    expect(plan.phases.map((phase) => phase.mark)).toEqual(["done", undefined]);
    expect(commands(plan)).toEqual([["npm test"], ["npm test"]]);
  });
});

describe("a document that is none of these", () => {
  test("gets a message that says what was looked for and shows the smallest plan that works, which does", () => {
    const parsed = parsePlan(
      "P.md",
      () => "# A report\n\n## Findings\n\n```md\n### Phase 1: not one\n- [ ] not one\n```\n",
    );
    expect(parsed.ok).toBe(false);
    const [diagnostic] = parsed.diagnostics;
    for (const { name, looksFor } of FORMS) expect(diagnostic?.message).toContain(`- ${name}: ${looksFor}`);
    const smallest = diagnostic?.fix.split("works:\n\n")[1]?.split("\n\n`segno init`")[0] ?? "";
    expect(planOf(smallest).phases).toHaveLength(2);
  });

  test("--format forces a form", () => {
    expect(planOf(PLANS.phases, { format: "checklist" }).format).toBe("checklist");
    expect(parsePlan("P", () => "# x\n", { format: "tagged" }).ok).toBe(false);
  });
});

describe("dependencies", () => {
  const depends = (value: string) =>
    planOf(
      `# P\n\n${[1, 2, 3, 4, 5].map((n) => `### Phase ${n}: T\n**Depends On:** ${n === 5 ? value : "None"}\n- [ ] x\n`).join("\n")}`,
    ).phases[4]?.dependsOn;
  test.each([
    ["None", []],
    ["None (can run independently)", []],
    ["-", []],
    ["1", ["1"]],
    ["Phase 1, Phase 3", ["1", "3"]],
    ["Phases 1-3", ["1", "2", "3"]],
    ["Phases 2 – 4", ["2", "3", "4"]],
    ["1, 2 and 4", ["1", "2", "4"]],
    ["ALL (1, 2, 3) - this phase integrates them", ["1", "2", "3"]],
    ["All previous phases", ["1", "2", "3", "4"]],
    ["Phase 2 (schema), Phase 3 (api)", ["2", "3"]],
    ["[Phase 1](p.md)", ["1"]],
    ["the database team", []],
  ])("%j", (value, expected) => expect(depends(value)).toEqual(expected));
});

describe("selecting phases", () => {
  const plan = planOf(PLANS.phases);
  test.each([
    [{}, undefined],
    [{ only: "2" }, ["2"]],
    [{ from: "3" }, ["3", "4"]],
    [{ phases: "1-2,4" }, ["1", "2", "4"]],
    [{ phases: "1-4", from: "2" }, ["2", "3", "4"]],
  ])("%j", (selection, ids) => expect(selectPhases(plan, selection)).toEqual({ ok: true, ids }));
  test.each([
    [{ only: "9" }, "9"],
    [{ phases: "1,8" }, "8"],
    [{ from: "x" }, "x"],
    [{ phases: "3-1" }, "3-1"],
  ])("%j is unknown", (selection, unknown) => expect(selectPhases(plan, selection)).toEqual({ ok: false, unknown }));
  test("ids may hold dashes", () => {
    expect(selectPhases(planOf(PLANS.tagged), { phases: "16-01-16-02" })).toEqual({
      ok: true,
      ids: ["16-01", "16-02"],
    });
  });
});

describe("doubts", () => {
  const warnings = (source: string) =>
    parsePlan("P", () => source)
      .diagnostics.filter((diagnostic) => diagnostic.severity === "warning")
      .map((diagnostic) => diagnostic.message);
  test.each(["true", ":", "exit 0", "echo ok", "npm test || true", "npm test || exit 0"])(
    "a gate that cannot fail: %s",
    (command) => {
      expect(warnings(PLANS.phaseFile.replace("npm test`)", `${command}\`)`)).join()).toContain("cannot fail");
    },
  );
  test("a real gate is not doubted, a phase without one is, so are files outside and a phase larger than the prompt budget", () => {
    expect(warnings(PLANS.phaseFile).join()).not.toContain("cannot fail");
    expect(warnings(PLANS.tasks).join()).toContain("has no gate");
    expect(warnings(PLANS.phaseFile.replaceAll("`src/estimate.ts`", "`../../etc/passwd`")).join()).toContain(
      "outside the repository: ../../etc/passwd",
    );
    expect(warnings(`${PLANS.phaseFile}\n${"word ".repeat(6_000)}`).join()).toContain("prompt budget");
  });
});

test("in one file with several phases each is marked as soon as it is done", () => {
  const source =
    "# Plan\n\n### Phase 1: One\n\n**Status:** Pending\n\n- [ ] a\n\n### Phase 2: Two\n\n**Status:** Pending\n\n- [ ] b\n";
  const plan = planOf(source);
  const marked = markPlanFile(plan, plan.file, source, {
    phase: "1",
    status: "done",
    tasksDone: [],
    completesFile: false,
  });
  expect(planOf(marked).phases.map(({ mark }) => mark)).toEqual(["done", undefined]);
});

describe("write-back in every form", () => {
  test.each(Object.entries(PLANS))("%s: only marks change, and they read back", (_, source) => {
    for (const given of [source, source.replaceAll("\n", "\r\n"), `\uFEFF${source}`]) {
      const plan = planOf(given);
      for (const [n, phase] of plan.phases.entries()) {
        const status = n % 2 === 0 ? ("done" as const) : ("failed" as const);
        const tasksDone = phase.tasks.slice(0, 1).map((task) => task.id);
        const marked = markPlanFile(plan, "PLAN.md", given, { phase: phase.id, status, tasksDone });
        const again = planOf(marked);
        // Some have no word for a failure.
        const says = ["kiro", "bmad"].includes(plan.format) && status === "failed" ? phase.mark : status;
        expect(again.phases[n]?.mark).toBe(says);
        expect(again.phases[n]?.title).toBe(phase.title);
        expect(again.phases.map((other, m) => (m === n ? null : [other.id, other.mark, other.tasks]))).toEqual(
          plan.phases.map((other, m) => (m === n ? null : [other.id, other.mark, other.tasks])),
        );
        expect(markPlanFile(plan, "PLAN.md", marked, { phase: phase.id, status, tasksDone })).toBe(marked);
        const bare = (text: string) =>
          text.replaceAll(
            / \[(COMPLETE|FAILED)\]| status="(done|failed)"|(?<=^(?:\*\*Status:\*\*|Status:) )[^\r\n]*|\[[xX ~-]\]/gm,
            "",
          );
        expect(bare(marked)).toBe(bare(given));
      }
    }
  });

  test("an empty status field and an underlined heading can be marked too", () => {
    for (const source of [
      PLANS.phaseFile.replace("**Status:** Pending", "**Status:**"),
      "# T\n\nOne\n---\n- [ ] a\n- [ ] b\n",
    ]) {
      const plan = planOf(source);
      const [phase] = plan.phases;
      const marked = markPlanFile(plan, "PLAN.md", source, { phase: phase?.id ?? "", status: "done", tasksDone: [] });
      expect(planOf(marked).phases.map(({ id, mark }) => [id, mark])).toEqual([[phase?.id, "done"]]);
    }
  });

  test("a checklist whose boxes are all ticked needs no tag", () => {
    const plan = planOf(PLANS.checklist);
    const marked = markPlanFile(plan, "PLAN.md", PLANS.checklist, { phase: "2", status: "done", tasksDone: ["2.1"] });
    expect(marked).toBe(PLANS.checklist.replace("- [ ] three", "- [x] three"));
  });
});
