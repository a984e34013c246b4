/** Plans of other tools from beginning to end: right order, at once where they say so, marks written back, gates run. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../src/run/event.js";
import { type Files, git, scratchRepo } from "../support/scratch.js";
import { eventsOf, site } from "../support/segno.js";
import { isThorough } from "../support/thorough.js";

interface Case {
  form: string;
  files: Files;
  /** What is typed. */
  plan: string;
  flags?: string[];
  /** Tasks as they are done; those in one list in any order. */
  done: string[][];
  /** Gates that ran, by phase. */
  gates: string[];
  /** What the files say afterwards. */
  says: [string, RegExp][];
  /** Phases of which two were worked on at the same time. */
  beside?: [string, string];
}

const PACKAGE = JSON.stringify({ scripts: { test: "test ! -f broken.txt" } }, null, 2);

const CASES: Case[] = [
  {
    form: "kiro",
    files: {
      ".kiro/specs/login/tasks.md":
        "# Implementation Plan\n\n- [ ] 1. The store\n  - [ ] 1.1 Create `out/a.txt`\n    - _Requirements: 1.1_\n  - [ ]* 1.2 Create `out/tests.txt`\n- [ ] 2. Checkpoint - all tests pass\n- [-] 3. The form\n  - [ ] 3.1 Create `out/b.txt`\n",
      ".kiro/specs/login/requirements.md": "### Requirement 1: Keep\n\n1. WHEN it is given THEN it SHALL be kept\n",
      "package.json": PACKAGE,
    },
    plan: ".kiro/specs/login",
    done: [["1/1.1"], ["3/3.1"]],
    gates: ["1 Checkpoint - all tests pass", "3 tests"],
    says: [
      [".kiro/specs/login/tasks.md", /- \[x\] 1\. The store\n {2}- \[x\] 1\.1/],
      [
        ".kiro/specs/login/tasks.md",
        /- \[ \]\* 1\.2[\s\S]*- \[x\] 2\. Checkpoint[\s\S]*- \[x\] 3\. The form\n {2}- \[x\] 3\.1/,
      ],
    ],
  },
  {
    form: "spec-kit",
    files: {
      "specs/001-albums/tasks.md":
        "---\ndescription: x\n---\n\n# Tasks: Albums\n\n## Phase 1: Setup\n\n- [ ] T001 Create `out/setup.txt`\n\n## Phase 2: User Story 1 - Make (P1)\n\n- [ ] T002 [US1] Create `out/one.txt`\n\n## Phase 3: User Story 2 - Share (P2)\n\n- [ ] T003 [US2] Create `out/two.txt`\n\n## Phase 4: Polish\n\n- [ ] T004 Create `out/polish.txt`\n",
      "package.json": PACKAGE,
    },
    plan: "specs/001-albums",
    flags: ["--parallel", "2"],
    done: [["1/T001"], ["2/T002", "3/T003"], ["4/T004"]],
    gates: ["1 tests", "2 tests", "3 tests", "4 tests"],
    says: [["specs/001-albums/tasks.md", /- \[x\] T001[\s\S]*- \[x\] T002[\s\S]*- \[x\] T003[\s\S]*- \[x\] T004/]],
    beside: ["2", "3"],
  },
  {
    form: "openspec",
    files: {
      "openspec/changes/add/tasks.md":
        "## 1. Data\n\n- [ ] 1.1 Create `out/a.txt`\n\n## 2. Page\n\n- [ ] 2.1 Create `out/b.txt`\n",
      "openspec/changes/add/proposal.md": "# Change: Add it\n\n## Why\n\nIt is missing.\n",
    },
    plan: "openspec/changes/add",
    done: [["1/1.1"], ["2/2.1"]],
    gates: [],
    says: [["openspec/changes/add/tasks.md", /- \[x\] 1\.1[\s\S]*- \[x\] 2\.1/]],
  },
  {
    form: "task-master",
    files: {
      ".taskmaster/tasks/tasks.json": `${JSON.stringify(
        {
          master: {
            tasks: [
              {
                id: 2,
                title: "Later",
                status: "pending",
                dependencies: [1],
                subtasks: [{ id: 1, title: "Create `out/b.txt`", status: "pending" }],
              },
              { id: 1, title: "Create `out/a.txt`", status: "pending", dependencies: [], subtasks: [] },
            ],
          },
        },
        null,
        2,
      )}\n`,
      "package.json": PACKAGE,
    },
    plan: ".taskmaster",
    done: [["1/1"], ["2/2.1"]],
    gates: ["1 tests", "2 tests"],
    says: [
      [
        ".taskmaster/tasks/tasks.json",
        /^\{\n {2}"master"[\s\S]*"status": "done"[\s\S]*"status": "done"[\s\S]*"status": "done"/,
      ],
    ],
  },
  {
    form: "bmad",
    files: {
      "stories/sprint-status.yaml":
        "development_status:\n  epic-1: in-progress\n  1-1-first: ready-for-dev # now\n  1-2-second: ready-for-dev\n",
      "stories/1-1-first.md":
        "# Story 1.1: First\n\nStatus: ready-for-dev\n\n## Acceptance Criteria\n\n1. It is there\n\n## Tasks / Subtasks\n\n- [ ] Task 1: A (AC: 1)\n  - [ ]1.1 Create `out/a.txt`\n\n## Quality Gates\n\n- [ ] `test -f out/a.txt`\n",
      "stories/1-2-second.md":
        "# Story 1.2: Second\n\nStatus: ready-for-dev\n\n## Tasks / Subtasks\n\n- [ ] Task 1: Create `out/b.txt`\n",
    },
    plan: "stories",
    done: [["1.1/1.1"], ["1.2/1"]],
    gates: ["1.1 test -f out/a.txt"],
    says: [
      ["stories/sprint-status.yaml", /1-1-first: review # now\n {2}1-2-second: review\n/],
      ["stories/1-1-first.md", /Status: review[\s\S]*- \[x\] Task 1[\s\S]*- \[x\]1\.1[\s\S]*- \[x\] `test/],
      ["stories/1-2-second.md", /Status: review[\s\S]*- \[x\] Task 1/],
    ],
  },
  {
    form: "tasks",
    files: {
      "docs/plans/cache.md":
        "# Cache Implementation Plan\n\n**Goal:** Keep it.\n\n### Task 1: The cache\n\n**Files:**\n- Create: `out/cache.txt`\n\n- [ ] **Step 1: Create `out/cache.txt`**\n\nRun: `test -f out/cache.txt`\nExpected: PASS\n",
    },
    plan: "docs/plans",
    done: [["1/1.1"]],
    gates: ["1 test -f out/cache.txt"],
    says: [["docs/plans/cache.md", /### Task 1: The cache \[COMPLETE\][\s\S]*- \[x\] \*\*Step 1/]],
  },
];

/** Whether both were under way at once. */
function wereBeside(events: readonly RunEvent[], [a, b]: [string, string]): boolean {
  const at = (type: string, phase: string) =>
    events.findIndex((event) => event.type === type && "phase" in event && event.phase === phase);
  return at("phase-started", b) < at("phase-done", a) && at("phase-started", a) < at("phase-done", b);
}

describe.concurrent("from beginning to end", () => {
  // With the real agent all of them in `test:complete`, and one in CI.
  test.each(CASES)("$form", async ({ form, files, plan, flags = [], done, gates, says, beside }) => {
    const repo = scratchRepo(files);
    const agent = isThorough || form === "bmad" ? "claude" : "scripted";
    const place = await site({ repo, agent });
    const ended = await place.segno(["run", plan, "--json", ...flags]).ended;
    expect(ended.code, `${ended.stdout.slice(-2_000)}\n${ended.stderr}`).toBe(0);
    const order = [...place.done];
    expect(done.map((wave) => order.splice(0, wave.length).toSorted())).toEqual(done);
    expect(order).toEqual([]);
    const events = eventsOf(ended);
    const ran = events.flatMap((event) =>
      event.type === "gate-finished" && event.passed ? [`${event.phase} ${event.name}`] : [],
    );
    expect([...new Set(ran)].toSorted()).toEqual(gates);
    for (const [file, form] of says) expect(readFileSync(join(repo, file), "utf8")).toMatch(form);
    if (beside !== undefined) expect(wereBeside(events, beside)).toBe(true);
    expect(git(repo, "status", "--porcelain")).toBe("");
    const verified = events.flatMap((event) => (event.type === "phase-done" ? [event.verified] : []));
    expect(verified.every(Boolean)).toBe(true);
    const again = await place.segno(["run", plan]).ended;
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("Nothing is left to do")]);
  });
});
