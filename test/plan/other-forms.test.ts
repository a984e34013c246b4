/** Plans that people have from other tools, each as its users mean it. */
import { describe, expect, test } from "vitest";
import type { Plan, PlanOptions, ReadPlanFile } from "../../src/plan/model.js";
import { parsePlan } from "../../src/plan/parse.js";
import { markPlanFile } from "../../src/plan/write-back.js";
import { PLANS } from "../support/plan-texts.js";

/** A repository that consists of these files. */
function reading(files: Readonly<Record<string, string>>): ReadPlanFile {
  const read: ReadPlanFile = (path) => files[path];
  read.list = (folder) =>
    Object.keys(files)
      .filter((path) => path.startsWith(`${folder}/`))
      .sort();
  return read;
}

function parsed(file: string, files: Readonly<Record<string, string>>, options: PlanOptions = {}) {
  const found = parsePlan(file, reading(files), options);
  if (!found.ok) throw new Error(JSON.stringify(found.diagnostics, null, 1));
  return found;
}

const brief = ({ phases }: Plan) => phases.map(({ id, title, dependsOn }) => [id, title, dependsOn.join(" ")]);
const tasksOf = ({ phases }: Plan) => phases.map(({ tasks }) => tasks.map(({ id }) => id));

const KIRO = ".kiro/specs/login/tasks.md";
const KIRO_FILES = {
  [KIRO]: PLANS.kiro,
  ".kiro/specs/login/requirements.md": `# Requirements

### Requirement 1: Logging in

#### Acceptance Criteria

1. WHEN a user enters a name THEN the system SHALL look it up
2. WHEN it is unknown
   THEN the system SHALL say so

### Requirement 2: Sessions

1. THE SYSTEM SHALL end sessions after an hour
`,
  ".kiro/specs/login/design.md": "# Design\n",
  ".kiro/steering/tech.md": "# Tech\n",
};

describe("Kiro and cc-sdd", () => {
  test("parents are phases, sub-tasks their tasks, in order; criteria come from requirements.md, the rest is named", () => {
    const { plan } = parsed(KIRO, KIRO_FILES, { testCommand: "npm test" });
    expect(plan.format).toBe("kiro");
    expect(plan.title).toBe("login: Implementation Plan");
    expect(brief(plan)).toEqual([
      ["1", "Set up the project", ""],
      ["2", "The session store", "1"],
      ["4", "The form", "2"],
    ]);
    expect(tasksOf(plan)).toEqual([["1"], ["2.1", "2.2", "2.4"], ["4.1"]]);
    expect(plan.phases.map(({ mark }) => mark)).toEqual(["done", undefined, undefined]);
    expect(plan.phases[1]?.tasks.map(({ ticked }) => ticked)).toEqual([true, false, false]);
    expect(plan.phases[1]?.criteria).toEqual([
      "1.2 WHEN it is unknown THEN the system SHALL say so",
      "2.1 THE SYSTEM SHALL end sessions after an hour",
    ]);
    expect(plan.phases[1]?.readFirst).toEqual([
      ".kiro/specs/login/requirements.md",
      ".kiro/specs/login/design.md",
      ".kiro/steering/tech.md",
    ]);
    expect(plan.phases[1]?.text).toContain("- [x] 2.1 Create the table");
    // "Checkpoint" is a gate of what comes before it.
    expect(plan.phases[1]?.gates).toMatchObject([
      { name: "Checkpoint - all tests pass", check: { type: "command", command: "npm test" } },
    ]);
  });

  test("optional tasks are read and shown, and done only where the user wants it", () => {
    const { plan } = parsed(KIRO, KIRO_FILES);
    expect(plan.phases[1]?.leftOut).toMatchObject([
      { id: "2.3", title: "Write property tests for it", optional: true },
    ]);
    expect(tasksOf(parsed(KIRO, KIRO_FILES, { optionalTasks: true }).plan)[1]).toEqual(["2.1", "2.2", "2.3", "2.4"]);
  });

  test("optional tasks that are done are ticked, too", () => {
    const source = KIRO_FILES[KIRO];
    const { plan } = parsed(KIRO, KIRO_FILES, { optionalTasks: true });
    const marked = markPlanFile(plan, KIRO, source, { phase: "2", status: undefined, tasksDone: ["2.3"] });
    expect(marked).toBe(source.replace("- [ ]* 2.3", "- [x]* 2.3"));
  });

  test("a requirement that is not there, and a checkpoint that nobody can run, are said with their lines", () => {
    const { diagnostics } = parsed(KIRO, KIRO_FILES);
    const said = diagnostics.map(({ line, message }) => `${line}: ${message}`);
    expect(said).toContain("7: Task 2 names requirements that requirements.md does not have: 9.9.");
    expect(said.some((text) => text.startsWith('15: "Checkpoint - all tests pass" means'))).toBe(true);
  });

  test("marks are written back: sub-tasks, their parent, and the checkpoint behind it; nothing else changes", () => {
    const source = KIRO_FILES[KIRO];
    const { plan } = parsed(KIRO, KIRO_FILES);
    const some = markPlanFile(plan, KIRO, source, { phase: "2", status: undefined, tasksDone: ["2.1", "2.2"] });
    expect(some).toBe(source.replace("- [ ] 2.2", "- [x] 2.2"));
    const all = markPlanFile(plan, KIRO, source, { phase: "2", status: "done", tasksDone: ["2.1", "2.2", "2.4"] });
    expect(all).toBe(
      source
        .replace("- [-] 2.", "- [x] 2.")
        .replace("- [ ] 2.2", "- [x] 2.2")
        .replace("- [~] 2.4", "- [x] 2.4")
        .replace("- [ ] 3. Checkpoint", "- [x] 3. Checkpoint"),
    );
    const again = parsed(KIRO, { ...KIRO_FILES, [KIRO]: all }).plan;
    expect(again.phases[1]?.mark).toBe("done");
    expect(tasksOf(again)).toEqual(tasksOf(plan));
  });

  test("sub-tasks that stand beside their parent with its number are its tasks, as cc-sdd writes them", () => {
    const source = `# Implementation Plan

- [ ] 1. Foundation
- [ ] 1.1 (P) Set up the store
  - Create the schema
  - _Requirements: 1.2_
  - _Boundary: src/store.ts_
- [x] 1.2 Read the settings
- [ ] 2. Form
- [ ] 2.1 Draw it
  - _Depends: 1.1_
`;
    const { plan, diagnostics } = parsed(KIRO, { ...KIRO_FILES, [KIRO]: source });
    expect(brief(plan)).toEqual([
      ["1", "Foundation", ""],
      ["2", "Form", "1"],
    ]);
    expect(tasksOf(plan)).toEqual([["1.1", "1.2"], ["2.1"]]);
    expect(plan.phases[0]).toMatchObject({
      files: ["src/store.ts"],
      criteria: ["1.2 WHEN it is unknown THEN the system SHALL say so"],
    });
    expect(plan.phases[0]?.text).toContain("Create the schema");
    expect(plan.phases[0]?.text).not.toContain("2.1");
    expect(diagnostics.filter(({ message }) => message.includes("looks like a box"))).toEqual([]);
    const marked = markPlanFile(plan, KIRO, source, { phase: "1", status: "done", tasksDone: ["1.1", "1.2"] });
    expect(marked).toBe(source.replace("[ ] 1. ", "[x] 1. ").replace("[ ] 1.1", "[x] 1.1"));
  });

  test("a parent that is optional, or has only optional sub-tasks, is left out whole, and nobody waits for it", () => {
    const source = `# Implementation Plan

- [ ] 1. Build
- [ ]* 2. Measure it
- [ ] 3. Test more
  - [ ]* 3.1 Property tests
- [ ] 4. Checkpoint - all tests pass
- [ ] 5. Ship
`;
    const { plan, diagnostics } = parsed("tasks.md", { "tasks.md": source }, { testCommand: "npm test" });
    expect(brief(plan)).toEqual([
      ["1", "Build", ""],
      ["5", "Ship", "1"],
    ]);
    expect(plan.phases[0]?.leftOut?.map(({ id }) => id)).toEqual(["2", "3", "3.1"]);
    expect(plan.phases[0]?.gates).toHaveLength(1);
    expect(diagnostics.filter(({ message }) => message.includes("looks like a box"))).toEqual([]);
    const marked = markPlanFile(plan, "tasks.md", source, { phase: "1", status: "done", tasksDone: ["1"] });
    expect(marked).toBe(source.replace("[ ] 1.", "[x] 1.").replace("[ ] 4.", "[x] 4."));
    const all = parsed("tasks.md", { "tasks.md": source }, { testCommand: "npm test", optionalTasks: true });
    expect(tasksOf(all.plan)).toEqual([["1"], ["2"], ["3.1"], ["5"]]);
  });

  test("a checkpoint in a wave judges all before it; what stands in no wave waits, and that is said", () => {
    const body =
      "- [ ] 1. A\n- [ ] 2. B\n- [ ] 3. Checkpoint\n- [ ] 4. C\n- [ ] 5. D\n- [ ] 6. E\n- [ ] 7. Final checkpoint\n";
    const { plan, diagnostics } = parsed(
      "tasks.md",
      { "tasks.md": graph(body, [["1", "2"], ["3"], ["4"], ["5"]]) },
      { testCommand: "npm test" },
    );
    expect(brief(plan)).toEqual([
      ["1", "A", ""],
      ["2", "B", ""],
      ["4", "C", "1 2"],
      ["5", "D", "1 2 4"],
      ["6", "E", "1 2 4 5"],
    ]);
    expect(plan.phases.map(({ gates }) => gates.map(({ name }) => name).join())).toEqual([
      "Checkpoint",
      "Checkpoint",
      "tests",
      "tests",
      "Final checkpoint",
    ]);
    expect(diagnostics.map(({ message }) => message)).toContain(
      "Task 6 stands in no wave of the dependency graph: it waits for all that is written before it.",
    );
  });

  test("a parent that is ticked over an open sub-task is said", () => {
    const source = "# Implementation Plan\n\n- [x] 1. A\n  - [-] 1.1 a\n- [ ] 2. B\n";
    expect(parsed("tasks.md", { "tasks.md": source }).diagnostics.map(({ message }) => message)).toContain(
      "Task 1 is ticked and 1.1 below it is not: all of it is taken as done.",
    );
  });

  const graph = (body: string, waves: string[][]) =>
    `# Implementation Plan\n\n${body}\n## Task Dependency Graph\n\n\`\`\`json\n${JSON.stringify({ waves: waves.map((tasks, id) => ({ id, tasks })) })}\n\`\`\`\n`;
  const three = "- [ ] 1. A\n  - [ ] 1.1 a\n- [ ] 2. B\n  - [ ] 2.1 b\n  - [ ] 2.2 b\n- [ ] 3. C\n  - [ ] 3.1 c\n";

  test("waves, (P) and _Depends:_ are dependencies; a circle between whole tasks is said, and plan order counts", () => {
    const waves = parsed("tasks.md", {
      "tasks.md": graph(three, [
        ["1.1", "2.1"],
        ["2.2", "3.1"],
      ]),
    }).plan;
    expect(brief(waves)).toEqual([
      ["1", "A", ""],
      ["2", "B", "1"],
      ["3", "C", "1 2"],
    ]);
    const circle = parsed("tasks.md", { "tasks.md": graph(three, [["2.1"], ["1.1"], ["2.2"], ["3.1"]]) });
    expect(brief(circle.plan).map(([, , needs]) => needs)).toEqual(["", "1", "2"]);
    expect(
      circle.diagnostics.some(({ message }) => message.includes("1 → 2 → 1") || message.includes("2 → 1 → 2")),
    ).toBe(true);
    const body = three.replace("2. B", "2. B (P)").replace("3. C", "3. C (P)");
    const beside = parsed("tasks.md", {
      "tasks.md": `# Implementation Plan\n\n${body}- [ ] 4. D\n  - _Depends: 1.1_\n`,
    });
    expect(brief(beside.plan)).toEqual([
      ["1", "A", ""],
      ["2", "B", "1"],
      ["3", "C", "1"],
      ["4", "D", "2 3 1"],
    ]);
  });
});

const SPEC = "specs/001-albums/tasks.md";
const SPEC_FILES = {
  [SPEC]: PLANS.specKit,
  "specs/001-albums/spec.md": `# Feature

### User Story 1 - Make an album (Priority: P1)

**Acceptance Scenarios**:

1. **Given** no album, **When** one is made, **Then** it is shown

### User Story 2 - Share it

1. **Given** an album, **When** it is shared, **Then** a link is there
`,
  "specs/001-albums/plan.md": "# Plan\n",
  ".specify/memory/constitution.md": "# Constitution\n",
};

describe("spec-kit", () => {
  test("set-up, foundation, stories beside each other unless the plan says otherwise, polish; the title is the heading's", () => {
    const { plan } = parsed(SPEC, SPEC_FILES);
    expect(plan.format).toBe("spec-kit");
    expect(plan.title).toBe("Photo albums");
    expect(brief(plan)).toEqual([
      ["1", "Setup (Shared Infrastructure)", ""],
      ["2", "Foundational (Blocking Prerequisites)", "1"],
      ["3", "User Story 1 - Make an album (Priority: P1)", "2"],
      ["4", "User Story 2 - Share it (Priority: P2)", "2 3"],
      ["5", "User Story 3 - Comments (Priority: P3)", "2 4"],
      ["6", "Polish & Cross-Cutting Concerns", "1 2 3 4 5"],
    ]);
    expect(tasksOf(plan)).toEqual([["T001", "T002"], ["T003"], ["T004", "T005"], ["T006"], ["T007"], ["T008"]]);
    expect(plan.phases[0]?.tasks[0]).toMatchObject({ title: "Create the project structure", ticked: true });
    expect(plan.phases[2]?.files).toEqual(["src/models/album.ts"]);
    expect(plan.phases[2]?.criteria).toEqual(["Given no album, When one is made, Then it is shown"]);
    expect(plan.phases[1]?.criteria).toEqual(["Foundation ready, stories can begin"]);
    expect(plan.phases[2]?.readFirst).toEqual([
      ".specify/memory/constitution.md",
      "specs/001-albums/plan.md",
      "specs/001-albums/spec.md",
    ]);
  });

  test("a number that was never filled in, what depends on what in other words, and checkpoints with a heading", () => {
    const source = `# Tasks: Notes

## Phase 1: Setup

- [ ] T001 Begin

## Phase 2: Foundational

- [ ] T002 The model

## Phase 3: User Story 1 - Write (Priority: P1)

- [ ] T003 [US1] Write

### US1 Checkpoint

Notes can be written.

## Phase 4: User Story 2 - Read (Priority: P2)

- [ ] T004 [US2] Read

## Phase 5: User Story 3 - Search (Priority: P3)

- [ ] T005 [US3] Search

## Phase 6: User Story 4 - Share (Priority: P4)

- [ ] T006 [US4] Share

## Phase 7: Polish

- [ ] TXXX [P] Documentation

## Dependencies & Execution Order

- **User Story 2 (P2)**: Can start after Foundational (Phase 2) - May integrate with US1 but should be independently testable
- **User Story 3**: Depends on US1 for the model, but independently testable
- Phase 6 (US4): Depends on Phase 3 and Phase 4
`;
    const { plan } = parsed("specs/002-notes/tasks.md", { "specs/002-notes/tasks.md": source });
    expect(plan.format).toBe("spec-kit");
    expect(plan.phases.map(({ id, dependsOn }) => `${id}: ${dependsOn.join(" ")}`)).toEqual([
      "1: ",
      "2: 1",
      "3: 2",
      "4: 2",
      "5: 2 3",
      "6: 2 3 4",
      "7: 1 2 3 4 5 6",
    ]);
    expect(plan.phases[2]?.criteria).toEqual(["Notes can be written."]);
  });

  test("its boxes are ticked, and nothing else changes", () => {
    const source = SPEC_FILES[SPEC];
    const { plan } = parsed(SPEC, SPEC_FILES);
    const marked = markPlanFile(plan, SPEC, source, { phase: "3", status: "done", tasksDone: ["T004", "T005"] });
    expect(marked).toBe(source.replace("- [ ] T004", "- [x] T004").replace("- [ ] T005", "- [x] T005"));
    expect(parsed(SPEC, { ...SPEC_FILES, [SPEC]: marked }).plan.phases[2]?.mark).toBe("done");
  });
});

const CHANGE = "openspec/changes/add-2fa/tasks.md";
const CHANGE_FILES = {
  [CHANGE]: "## 1. Database\n\n- [x] 1.1 Add the column\n- [ ] 1.2 Migrate\n\n## 2. Frontend\n\n- [ ] 2.1 The form\n",
  "openspec/changes/add-2fa/proposal.md":
    "# Change: Two factors\n\n## Why\n\nPasswords leak.\n\n## What Changes\n\n- a form\n",
  "openspec/changes/add-2fa/specs/auth/spec.md":
    "## ADDED Requirements\n\n### Requirement: Second factor\n\nIt SHALL ask.\n\n#### Scenario: Right code\n\n- **WHEN** the code is right\n- **THEN** the user is in\n",
};

describe("OpenSpec", () => {
  test("groups in order; the title is the proposal's, scenarios are what the last group must meet; archiving is named", () => {
    const { plan } = parsed(CHANGE, CHANGE_FILES);
    expect(plan.format).toBe("openspec");
    expect([plan.title, plan.goal]).toEqual(["Two factors", "Passwords leak."]);
    expect(brief(plan)).toEqual([
      ["1", "Database", ""],
      ["2", "Frontend", "1"],
    ]);
    expect(tasksOf(plan)).toEqual([["1.1", "1.2"], ["2.1"]]);
    expect(plan.phases.map(({ criteria }) => criteria)).toEqual([
      [],
      ["Right code: WHEN the code is right THEN the user is in"],
    ]);
    expect(plan.afterwards).toContain("openspec archive add-2fa");
  });

  test("its boxes are ticked, and nothing else changes", () => {
    const source = CHANGE_FILES[CHANGE];
    const { plan } = parsed(CHANGE, CHANGE_FILES);
    const marked = markPlanFile(plan, CHANGE, source, { phase: "1", status: "done", tasksDone: ["1.1", "1.2"] });
    expect(marked).toBe(source.replace("- [ ] 1.2", "- [x] 1.2"));
  });
});

const SUPER = PLANS.superpowers;

describe("superpowers", () => {
  test("tasks are phases, steps their tasks; files are claimed, what the last step runs is a gate", () => {
    const { plan, diagnostics } = parsed("docs/plans/cache.md", { "docs/plans/cache.md": SUPER });
    expect(plan.format).toBe("tasks");
    expect(brief(plan)).toEqual([
      ["1", "The cache", ""],
      ["2", "Documents", "1"],
    ]);
    expect(plan.phases[0]?.tasks).toHaveLength(3);
    expect(plan.phases[0]?.files).toEqual(["src/cache.ts", "src/index.ts", "test/cache.test.ts"]);
    expect(plan.phases[0]?.gates).toMatchObject([{ check: { type: "command", command: "npm test -- cache" } }]);
    expect(plan.phases[1]?.gates).toEqual([]);
    // A fence inside a fence: what it swallowed is said, with where it began.
    const swallowed = diagnostics.find(({ message }) => message.startsWith("2 boxes stand in a code block"));
    const begins = SUPER.slice(0, SUPER.indexOf("```markdown")).split("\n").length;
    expect(swallowed?.message).toContain(`begins in line ${begins} and ends in line ${begins + 4}`);
  });

  test("acceptance criteria of headed phases and of checklists are read", () => {
    const source =
      "# P\n\n### Phase 1: A\n\n- [ ] a\n\n#### Acceptance Criteria\n\n- it works\n\n### Phase 2: B\n\n**Acceptance criteria:**\n\n- it shines\n\n**Tasks:**\n\n- [ ] b\n";
    const { plan } = parsed("P.md", { "P.md": source });
    expect(plan.phases.map(({ criteria }) => criteria)).toEqual([["it works"], ["it shines"]]);
    const list = "# P\n\n## A\n\n- [ ] a\n\n**Acceptance Criteria:**\n\n- it holds\n";
    expect(parsed("P.md", { "P.md": list }).plan.phases[0]?.criteria).toEqual(["it holds"]);
  });
});

describe("a box", () => {
  const said = (source: string) =>
    parsed("P.md", { "P.md": source }).diagnostics.map(({ line, message, fix }) => `${line}: ${message} ${fix}`);

  test.each([
    [
      "- [/] half",
      '3: This looks like a box and is not read as a task: - [/] half Segno knows [ ] and [x]; this one has "/".',
    ],
    ["- [✓] tick", "3: This looks like a box"],
    ["- [ ]no space", "3: This looks like a box and is not read as a task: - [ ]no space Put a space behind the box"],
    ["> - [ ] quoted", "3: A box stands in a quote"],
    ["| a |\n|---|\n| [ ] |", "5: A box stands in a table"],
    ["```\n- [ ] code\n```", "4: A box stands in a code block that begins in line 3 and ends in line 5"],
  ])("%s is not lost in silence", (text, expected) => {
    expect(said(`# P\n\n${text}\n\n## A\n\n- [ ] a\n`).join("\n")).toContain(expected);
  });

  test.each(["- [link](url)", "[1]: https://x.invalid", "- [US1] a story", "text with [ ] inside"])(
    "%s is none",
    (text) => {
      const found = parsed("P.md", { "P.md": `# P\n\n${text}\n\n## A\n\n- [ ] a\n` });
      expect(found.boxes).toBe(1);
      expect(found.diagnostics.filter(({ message }) => /box/.test(message))).toEqual([]);
    },
  );
});

const MASTER_FILE = ".taskmaster/tasks/tasks.json";
const MASTER_FILES = {
  [MASTER_FILE]: `{
  "master": {
    "tasks": [
      { "id": 1, "title": "Set up", "description": "Begin.", "status": "done", "dependencies": [], "subtasks": [] },
      {
        "id": 2,
        "title": "Store",
        "description": "Keep it.",
        "details": "In a file.",
        "testStrategy": "Read it back.",
        "status": "pending",
        "priority": "high",
        "dependencies": [1],
        "subtasks": [
          { "id": 1, "title": "Write", "status": "done", "dependencies": [] },
          { "id": 2, "title": "Read", "status": "in-progress", "dependencies": [1] }
        ],
        "unknown": { "kept": [1, 2] }
      },
      { "id": 3, "title": "Later", "status": "deferred", "dependencies": [2] },
      { "id": 4, "title": "Show", "status": "pending", "dependencies": ["2.1", 3] }
    ]
  },
  "other": { "tasks": [ { "id": 9, "title": "Elsewhere", "status": "pending", "dependencies": [] } ] }
}
`,
};

describe("Task Master", () => {
  test("tasks are phases with their dependencies, subtasks their tasks, the test strategy a criterion; left out is said", () => {
    const { plan, diagnostics } = parsed(MASTER_FILE, MASTER_FILES);
    expect(plan.format).toBe("task-master");
    expect(brief(plan)).toEqual([
      ["1", "Set up", ""],
      ["2", "Store", "1"],
      ["4", "Show", "2"],
    ]);
    expect(tasksOf(plan)).toEqual([["1"], ["2.1", "2.2"], ["4"]]);
    expect(plan.phases[0]?.mark).toBe("done");
    expect(plan.phases[1]?.criteria).toEqual(["Read it back."]);
    expect(plan.phases[1]?.text).toContain("- [ ] 2.2 Read");
    expect(diagnostics.map(({ line, message }) => `${line}: ${message}`)).toContain(
      "20: Task 3 is deferred: it is left out, and nobody waits for it.",
    );
  });

  test("the tag is the current one, or the one that is named", () => {
    const state = { ...MASTER_FILES, ".taskmaster/state.json": '{ "currentTag": "other" }' };
    expect(brief(parsed(MASTER_FILE, state).plan)).toEqual([["9", "Elsewhere", ""]]);
    expect(brief(parsed(MASTER_FILE, state, { tag: "master" }).plan)).toHaveLength(3);
  });

  test("marks go to the tag that the plan is of", () => {
    const source = (MASTER_FILES[MASTER_FILE] as string).replace('"id": 9', '"id": 1');
    const files = { [MASTER_FILE]: source };
    const { plan } = parsed(MASTER_FILE, files, { tag: "other" });
    const marked = markPlanFile(plan, MASTER_FILE, source, { phase: "1", status: "done", tasksDone: ["1"] });
    expect(marked).toBe(source.replace('"Elsewhere", "status": "pending"', '"Elsewhere", "status": "done"'));
  });

  test("only statuses are written back", () => {
    const source = MASTER_FILES[MASTER_FILE];
    const { plan } = parsed(MASTER_FILE, MASTER_FILES);
    const one = markPlanFile(plan, MASTER_FILE, source, { phase: "2", status: undefined, tasksDone: ["2.1", "2.2"] });
    expect(one).toBe(source.replace('"in-progress"', '"done"'));
    const all = markPlanFile(plan, MASTER_FILE, source, { phase: "2", status: "done", tasksDone: ["2.1", "2.2"] });
    expect(all).toBe(
      source
        .replace('"in-progress"', '"done"')
        .replace('"status": "pending",\n        "priority"', '"status": "done",\n        "priority"'),
    );
    expect(parsed(MASTER_FILE, { [MASTER_FILE]: all }).plan.phases[1]?.mark).toBe("done");
    expect(markPlanFile(plan, MASTER_FILE, source, { phase: "4", status: "failed", tasksDone: [] })).toBe(source);
  });
});

const STORY = "stories/2-3-reset-password.md";
const SPRINT = "stories/sprint-status.yaml";
const SPRINT_FILES = {
  [SPRINT]: `# how far it is
project: "Shop"
development_status:
  epic-2: in-progress
  2-1-log-in: done
  2-3-reset-password: ready-for-dev   # next
  2-4-log-out: backlog
  epic-2-retrospective: optional
`,
  [STORY]: PLANS.bmad,
  "stories/2-1-log-in.md": "# Story 2.1: Log in\n\nStatus: done\n\n## Tasks / Subtasks\n\n- [x] Task 1: The form\n",
};

describe("BMAD", () => {
  test("a story is a phase: its innermost boxes are tasks, criteria know them, commands are gates and no phase", () => {
    const { plan, boxes, diagnostics } = parsed(STORY, { [STORY]: PLANS.bmad });
    expect([plan.format, plan.title]).toEqual(["bmad", "Story 2.3: Reset a password"]);
    expect(plan.goal).toContain("so that I can get in again");
    expect(brief(plan)).toEqual([["2.3", "Reset a password", ""]]);
    expect(tasksOf(plan)).toEqual([["1.1", "2.1", "2.2", "3"]]);
    expect(plan.phases[0]?.tasks.map(({ ticked }) => ticked)).toEqual([true, false, false, false]);
    expect(plan.phases[0]?.criteria).toEqual([
      "AC 1 (task 2): Given a known address, When it is entered, Then a mail is sent",
      "AC 2 (task 1): Given a token that is an hour old, Then it is refused",
      "Reviewed by somebody else",
    ]);
    expect(plan.phases[0]?.gates.map(({ check }) => check)).toEqual([
      { type: "command", command: "npm run lint" },
      { type: "command", command: "npm test" },
    ]);
    expect(boxes).toBe(8);
    expect(diagnostics.filter(({ message }) => /box/.test(message))).toEqual([]);
  });

  test("a sprint's stories in order; what has no file is said, what is done or in review is done", () => {
    const { plan, diagnostics } = parsed(SPRINT, SPRINT_FILES);
    expect(plan.title).toBe("Shop: sprint");
    expect(brief(plan)).toEqual([
      ["2.1", "Log in", ""],
      ["2.3", "Reset a password", "2.1"],
    ]);
    expect(plan.phases.map(({ mark }) => mark)).toEqual(["done", undefined]);
    expect(plan.files).toEqual([SPRINT, "stories/2-1-log-in.md", STORY]);
    expect(diagnostics.map(({ line, message }) => `${line}: ${message}`)).toContain(
      "7: The story 2-4-log-out (backlog) has no file stories/2-4-log-out.md: it is left out.",
    );
  });

  test("boxes are ticked with those above them, and the status moves to review in both files; nothing else changes", () => {
    const { plan } = parsed(SPRINT, SPRINT_FILES);
    const some = { phase: "2.3", status: undefined, tasksDone: ["1.1", "2.1"] };
    expect(markPlanFile(plan, STORY, PLANS.bmad, some)).toBe(PLANS.bmad.replace("- [ ]2.1", "- [x]2.1"));
    const done = { phase: "2.3", status: "done" as const, tasksDone: ["1.1", "2.1", "2.2", "3"] };
    const story = markPlanFile(plan, STORY, PLANS.bmad, done);
    expect(story).toBe(
      PLANS.bmad
        .replace("ready-for-dev", "review")
        .replace("- [ ]2.1", "- [x]2.1")
        .replace("- [ ] 2.2", "- [x] 2.2")
        .replace("- [ ] Task 2", "- [x] Task 2")
        .replace("- [ ] Task 3", "- [x] Task 3")
        .replace("- [ ] `npm run lint`", "- [x] `npm run lint`"),
    );
    const sprint = markPlanFile(plan, SPRINT, SPRINT_FILES[SPRINT], done);
    expect(sprint).toBe(SPRINT_FILES[SPRINT].replace("ready-for-dev   #", "review   #"));
    const again = parsed(SPRINT, { ...SPRINT_FILES, [STORY]: story, [SPRINT]: sprint }).plan;
    expect(again.phases.map(({ mark }) => mark)).toEqual(["done", "done"]);
    expect(tasksOf(again)).toEqual(tasksOf(plan));
  });

  const story = (body: string) => `# Story 1.1: A\n\n${body}\n## Tasks / Subtasks\n\n- [ ] Task 1: a\n`;
  const gatesOf = (text: string) =>
    parsed("1-1-a.md", { "1-1-a.md": `${story("Status: x\n")}\n## Quality Gates\n\n${text}\n` }).plan.phases[0];

  test("a command that is only mentioned, or that does more than check, is no gate", () => {
    const found = gatesOf(
      "- do not run `git push origin main`\n- `npm run deploy` after the review\n- `GET /health` returns 200\n- `User model` has an email\n- [ ] Run: `npm run lint`\n- [ ] No `console.log` left, `npm test` before\n\n```bash\n# all\n$ npm test\n```\n",
    );
    expect(found?.gates.map(({ name }) => name).toSorted()).toEqual(["npm run lint", "npm test"]);
    expect(found?.criteria).toHaveLength(5);
  });

  test.each([
    ["Status: ready-for-dev <!-- by SM -->\n", "Status: review <!-- by SM -->\n"],
    ["Status:\n", "Status: review\n"],
    ["**Status:** drafted\n", "**Status:** review\n"],
    ["## Status\n\nDraft\n", "## Status\n\nreview\n"],
    ["Status: done\n", "Status: done\n"],
    ["Status: x\n\n```\nstatus: 200\n```\n", "Status: review\n\n```\nstatus: 200\n```\n"],
    ["Words.\n\n## Notes\n\nStatus: 404 is returned\n", "Words.\n\n## Notes\n\nStatus: 404 is returned\n"],
  ])("only the word of its own status changes: %j", (before, after) => {
    const file = "1-1-a.md";
    const { plan } = parsed(file, { [file]: story(before) });
    const marked = markPlanFile(plan, file, story(before), { phase: "1.1", status: "done", tasksDone: [] });
    expect(marked).toBe(story(after));
  });

  test("a sprint's story without a status gets one, and the reviewer's word stays", () => {
    const sprint = "development_status:\n  1-1-a:\n  1-2-b: done\n";
    const files = { "sprint-status.yaml": sprint, "1-1-a.md": story(""), "1-2-b.md": story("").replace("1.1", "1.2") };
    const { plan } = parsed("sprint-status.yaml", files);
    const mark = (text: string, phase: string) =>
      markPlanFile(plan, "sprint-status.yaml", text, { phase, status: "done", tasksDone: [] });
    expect(mark(mark(sprint, "1.1"), "1.2")).toBe("development_status:\n  1-1-a: review\n  1-2-b: done\n");
  });

  test("a number that belongs to the words is no id", () => {
    const text = story("").replace("Task 1: a", "2FA setup\n- [ ] 404 page\n- [ ] 3 retries\n- [ ] 4. Last");
    const { plan } = parsed("s.md", { "s.md": text });
    expect(plan.phases[0]?.tasks.map(({ id, title }) => `${id} ${title}`)).toEqual([
      "1 2FA setup",
      "2 404 page",
      "3 3 retries",
      "4 Last",
    ]);
  });
});

test("whatever looks like a box to a person is a task, or said with its line; references and links are none", () => {
  const marks = ["✅", "  ", "x ", "v", ".", "D", "√", " x "];
  const others = ["[US1] a tag", "[1] a reference", "[link](x)"];
  const source = `# Plan\n\n## Phase 1: A\n\n- [ ] 1.1 a\n${marks.map((mark) => `- [${mark}] b\n`).join("")}${others
    .map((other) => `- ${other}\n`)
    .join("")}\n<details>\n- [ ] hidden\n</details>\n\n<!--\n- [ ] unseen\n-->\n\n## Review\n\n- [>] c\n- [/] d\n`;
  const { diagnostics, boxes } = parsed("PLAN.md", { "PLAN.md": source });
  const said = diagnostics.filter(({ message }) => /box/.test(message)).map(({ line }) => line);
  expect(said).toEqual([...marks.map((_, n) => n + 6), 19, 28]);
  expect(boxes).toBe(1 + marks.length + 2 + 2);
});

test("a task whose text begins with something bold has neither its box nor its number in its title", () => {
  const source = "# Plan\n\n## Phase 1: A\n\n- [ ] **Step 1: Write it**\n- [ ] 1.2 Test it\n";
  const { plan } = parsed("PLAN.md", { "PLAN.md": source });
  expect(plan.phases[0]?.tasks.map(({ id, title }) => [id, title])).toEqual([
    ["1.1", "**Step 1: Write it**"],
    ["1.2", "Test it"],
  ]);
});

test("a command in the plan's words that never ends is no gate, and one that ends gives way to what the project has", () => {
  const of = (command: string) =>
    parsed("PLAN.md", { "PLAN.md": `# P\n\n## Phase 1: A\n\nUse \`${command}\`.\n\n- [ ] 1.1 a\n` }).plan.phases[0]
      ?.gates;
  expect(of("npm test -- --watch")).toEqual([]);
  expect(of("npm test")).toMatchObject([{ inWords: true, check: { command: "npm test" } }]);
});

test.each([
  ["PASS", true],
  ["All tests pass", true],
  ["exit 0, 5 passed, 0 failed", true],
  ["FAIL with 'not defined'", false],
  ["1 passed, 2 failed", false],
])("superpowers: Expected: %s is a gate: %s", (expected, isGate) => {
  const source = `# Cache\n\n### Task 1: It\n\n- [ ] **Step 1: Test**\n\nRun: \`npm test\`\nExpected: ${expected}\n`;
  const gates = parsed("docs/plans/c.md", { "docs/plans/c.md": source }).plan.phases[0]?.gates ?? [];
  expect(gates.some(({ inWords }) => inWords !== true)).toBe(isGate);
});

test("OpenSpec: what a change removes is nothing that must hold", () => {
  const spec = `${CHANGE_FILES["openspec/changes/add-2fa/specs/auth/spec.md"]}\n## REMOVED Requirements\n\n### Requirement: Old\n\n#### Scenario: Gone\n\n- **WHEN** old\n`;
  const { plan } = parsed(CHANGE, { ...CHANGE_FILES, "openspec/changes/add-2fa/specs/auth/spec.md": spec });
  expect(plan.phases.at(-1)?.criteria).toHaveLength(1);
});
