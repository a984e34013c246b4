import { describe, expect, test } from "vitest";
import { parsePlan } from "../../src/plan/parse.js";
import { markPlanFile } from "../../src/plan/write-back.js";
import { planFiles } from "../support/plans.js";
import type { Files } from "../support/scratch.js";

const parse = (files: Files, file = "PLAN.md") => parsePlan(file, (path) => files[path]);
const errors = (files: Files) => {
  const parsed = parse(files);
  return parsed.diagnostics.filter((diagnostic) => diagnostic.severity === "error");
};

describe("a master plan with phase files", () => {
  test("ids, titles, dependencies, tasks and gates come out, each with its place", () => {
    const files = planFiles([
      { id: "1", tasks: 2, gates: ["npm test", "npm run lint"] },
      { id: "3.1", dependsOn: ["1"] },
      { id: "6A", dependsOn: ["1", "3.1"] },
    ]);
    const parsed = parse(files);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics));
    const { plan } = parsed;
    expect(plan.title).toBe("Test plan");
    expect(plan.goal).toBe("A plan for a test.");
    expect(plan.files).toEqual(["PLAN.md", "plan/phase-1.md", "plan/phase-3.1.md", "plan/phase-6A.md"]);
    expect(plan.phases.map(({ id, dependsOn }) => [id, dependsOn])).toEqual([
      ["1", []],
      ["3.1", ["1"]],
      ["6A", ["1", "3.1"]],
    ]);
    expect(plan.phases[0]?.tasks).toEqual([
      { id: "1.1", title: "Create `out/1-1.txt`", ticked: false, file: "plan/phase-1.md", line: 13 },
      { id: "1.2", title: "Create `out/1-2.txt`", ticked: false, file: "plan/phase-1.md", line: 14 },
    ]);
    expect(
      plan.phases[0]?.gates.map(({ name, check, line }) => [name, check.type === "command" && check.command, line]),
    ).toEqual([
      ["gate 1", "npm test", 8],
      ["gate 2", "npm run lint", 9],
    ]);
  });

  test("only checkboxes under Tasks are tasks: not a wrapper's, a criterion's, a code block's or a comment's", () => {
    const files = {
      ...planFiles([{ id: "1" }]),
      "plan/phase-1.md": `# Phase 1: One

**Status:** Pending
**Depends On:** None (can run independently)

## Process Wrapper (MANDATORY)
- [ ] Read this
  \`\`\`bash
  echo "- [ ] not a task"
  \`\`\`

## Gates (must pass before completion)
- tests: pass (command: \`npm test\`)

## Tasks

### 1. Group
- [ ] 1.1: First
  - [x] 1.2: Nested and ticked

\`\`\`md
- [ ] in a fence
\`\`\`
<!--
- [ ] in a comment
-->

#### 6A.1: Heading with an id
- [ ] no id of its own
- [ ] another

## Test Strategy
- [ ] not a task
`,
    };
    const parsed = parse(files);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics));
    expect(parsed.plan.phases[0]?.tasks.map(({ id, title, ticked }) => [id, title, ticked])).toEqual([
      ["1.1", "First", false],
      ["1.2", "Nested and ticked", true],
      ["6A.1.1", "no id of its own", false],
      ["6A.1.2", "another", false],
    ]);
    expect(parsed.plan.phases[0]?.dependsOn).toEqual([]);
  });

  test("phases marked as done are recognised in the table and in the file", () => {
    const parsed = parse(
      planFiles([
        { id: "1", status: "✅ Completed" },
        { id: "2", status: "Not done" },
        { id: "3", status: "Done" },
      ]),
    );
    expect(parsed.ok && parsed.plan.phases.map((phase) => phase.mark)).toEqual(["done", undefined, "done"]);
  });

  test.each([
    ["an unknown dependency", planFiles([{ id: "1", dependsOn: ["9"] }]), "plan/phase-1.md:1", "depends on phase 9"],
    [
      "a cycle, named whole",
      planFiles([
        { id: "1", dependsOn: ["3"] },
        { id: "2", dependsOn: ["1"] },
        { id: "3", dependsOn: ["2"] },
      ]),
      "plan/phase-1.md:1",
      "1 → 3 → 2 → 1",
    ],
    [
      "a missing phase file",
      { "PLAN.md": planFiles([{ id: "1" }])["PLAN.md"] as string },
      "PLAN.md:9",
      "plan/phase-1.md",
    ],
    [
      "a link out of the repository",
      { "PLAN.md": "# P\n\n| Phase | T |\n|-|-|\n| 1 | [x](../../etc/x.md) |\n" },
      "PLAN.md:5",
      "no such file",
    ],
    [
      "a link that cannot be decoded",
      { "PLAN.md": "# P\n\n| Phase | T |\n|-|-|\n| 1 | [x](%E0%A4%A.md) |\n" },
      "PLAN.md:5",
      "no such file",
    ],
    ["an empty plan", { "PLAN.md": " \n" }, "PLAN.md:1", "empty"],
    ["no plan at all", { "PLAN.md": "# Notes\n\nSome text.\n" }, "PLAN.md:1", "no plan"],
    [
      "two phases with one id",
      {
        ...planFiles([{ id: "1" }]),
        "PLAN.md": "# P\n\n| Phase | T |\n|-|-|\n| 1 | [x](plan/phase-1.md) |\n| 1 | [y](plan/phase-1.md) |\n",
      },
      "plan/phase-1.md:1",
      "Two phases",
    ],
  ])("%s is an error with its place and a fix", (_, files, place, message) => {
    const found = errors(files as Files);
    expect(found.map(({ file, line }) => `${file}:${line}`)).toContain(place);
    expect(found.map((error) => error.message).join("\n")).toContain(message);
    for (const error of found) expect(error.fix).not.toBe("");
  });

  test("a gate without a command is an error at its line", () => {
    const files = planFiles([{ id: "1" }]);
    files["plan/phase-1.md"] = (files["plan/phase-1.md"] as string).replace("(command: `true`)", "somehow");
    expect(errors(files)).toMatchObject([
      { file: "plan/phase-1.md", line: 8, message: expect.stringContaining("gate 1") },
    ]);
  });
});

describe("write-back", () => {
  const files = planFiles([
    { id: "1", tasks: 2 },
    { id: "2", tasks: 2 },
  ]);
  const parsed = parse(files);
  if (!parsed.ok) throw new Error("the fixture is no plan");
  const { plan } = parsed;

  test("changes only the bytes of the marks", () => {
    const source = (files["plan/phase-1.md"] as string).replaceAll("\n", "\r\n").replace("## Gates", "## Gates   ");
    const marked = markPlanFile(plan, "plan/phase-1.md", source, { phase: "1", status: "done", tasksDone: ["1.2"] });
    expect(marked).toBe(
      source.replace("**Status:** Pending", "**Status:** Completed").replace("- [ ] 1.2", "- [x] 1.2"),
    );
    const master = markPlanFile(plan, "PLAN.md", files["PLAN.md"] as string, {
      phase: "2",
      status: "failed",
      tasksDone: [],
    });
    expect(master).toBe(
      (files["PLAN.md"] as string).replace("(plan/phase-2.md) | Pending |", "(plan/phase-2.md) | Failed |"),
    );
  });

  test("writing a state the file already has is byte-identical, and reading it back gives that state", () => {
    const marks = { phase: "1", status: "done" as const, tasksDone: ["1.1", "1.2"] };
    const once = Object.fromEntries(
      Object.entries(files).map(([file, source]) => [file, markPlanFile(plan, file, source, marks)]),
    );
    const twice = Object.fromEntries(
      Object.entries(once).map(([file, source]) => [file, markPlanFile(plan, file, source, marks)]),
    );
    expect(twice).toEqual(once);
    const again = parse(once);
    expect(again.ok && again.plan.phases.map((phase) => [phase.mark, phase.tasks.map((task) => task.ticked)])).toEqual([
      ["done", [true, true]],
      [undefined, [false, false]],
    ]);
  });
});
