import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call } from "../../src/rehearsal/reply.js";
import { firstly } from "../support/behaviours.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const replaceIn = (repo: string, file: string, from: string, to: string) =>
  writeFileSync(join(repo, file), readFileSync(join(repo, file), "utf8").replace(from, to));

test("what the user ticked before the run is done: it is said, told to the agent, and not done again", async () => {
  const files = planFiles([{ id: "1", tasks: 3 }]);
  const ticked = (files["plan/phase-1.md"] ?? "").replace("- [ ] 1.2:", "- [x] 1.2:");
  const run = await rehearse({ repo: scratchRepo({ ...files, "plan/phase-1.md": ticked }) });
  expect(run.status).toBe("completed");
  expect(run.done).toEqual(["1/1.1", "1/1.3"]);
  expect(run.of("warned").map(({ message }) => message)).toContain(
    "Task 1.2 of phase 1: ticked in the plan, so taken as done (--force does them again).",
  );
});

describe.concurrent("a plan that changes while it runs", () => {
  test("the user's edits between phases count: a new task, a new phase; what contradicts is said and changes nothing", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const run = await rehearse({
      repo,
      onEvent: (event) => {
        if (event.type !== "phase-done" || event.phase !== "1") return;
        replaceIn(repo, "plan/phase-2.md", "- [ ] 2.1:", "- [ ] 2.9: Create `out/2-9.txt`\n- [ ] 2.1:");
        replaceIn(repo, "PLAN.md", "| 2 |", "| 3 | [More](plan/phase-3.md) | Pending |\n| 2 |");
        writeFileSync(
          join(repo, "plan/phase-3.md"),
          (planFiles([{ id: "3" }])["plan/phase-3.md"] ?? "").replace("None", "[Phase 2](phase-2.md)"),
        );
        replaceIn(repo, "plan/phase-1.md", "- [x] 1.1:", "- [ ] 1.7: Create `out/late.txt`\n- [x] 1.1:");
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("plan-changed")[0]).toMatchObject({ added: ["3"], changed: ["2"], removed: [] });
    expect(run.done).toEqual(["1/1.1", "2/2.9", "2/2.1", "3/3.1"]);
    expect(
      run
        .of("warned")
        .map((event) => event.message)
        .join(),
    ).toContain("Phase 1 was changed in the plan, but it is done already");
    // The user's own edits of the plan stay theirs, uncommitted; only marks are committed.
    expect(git(repo, "show", "HEAD:plan/phase-2.md")).not.toContain("2.9");
    expect(readFileSync(join(repo, "plan/phase-2.md"), "utf8")).toContain("- [x] 2.9:");
  });

  test("an agent's edits count for nothing, also not as a change of plan before the next phase", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"], gates: ["test -f out/2-1.txt"] }]));
    const run = await rehearse({
      repo,
      behave: firstly(
        call("Bash", {
          command:
            "sed -i 's/test -f out.2-1.txt/true/; s/- \\[ \\] 2.1/- [x] 2.1/' plan/phase-2.md; sed -i 's/| 2 |/| 9 | [Evil](plan\\/phase-2.md) | Pending |\\n| 2 |/' PLAN.md",
          description: "cheat",
        }),
      ),
    });
    expect(run.status).toBe("completed");
    expect(run.of("plan-edited-by-agent")[0]?.files.toSorted()).toEqual(["PLAN.md", "plan/phase-2.md"]);
    expect(run.of("plan-changed")).toEqual([]);
    expect(run.done).toEqual(["1/1.1", "2/2.1"]);
    expect(run.of("gate-finished").map((event) => event.phase)).toEqual(["1", "2"]);
    expect(git(repo, "show", "HEAD:plan/phase-2.md")).toContain("test -f out/2-1.txt");
  });

  test("a plan that cannot be read any more is said once, and the run goes on with what it was", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const run = await rehearse({
      repo,
      onEvent: (event) => {
        if (event.type === "phase-done" && event.phase === "1")
          replaceIn(repo, "plan/phase-2.md", "[Phase 1](phase-1.md)", "[Phase 7](phase-7.md)");
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("warned").filter((event) => event.message.includes("cannot be read now"))).toHaveLength(1);
    expect(run.done).toEqual(["1/1.1", "2/2.1"]);
  });

  test("a failed phase is marked so in the files, and a later success replaces the mark", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["false"] }]));
    const run = await rehearse({ repo, config: { max_remediations: 0 } });
    expect(run.status).toBe("failed");
    expect(readFileSync(join(repo, "plan/phase-1.md"), "utf8")).toContain("**Status:** Failed");
    expect(readFileSync(join(repo, "PLAN.md"), "utf8")).toContain("| Failed |");
    expect(git(repo, "log", "--oneline").split("\n")).toHaveLength(1);
    // Marks alone do not make the tree dirty in the sense of a fresh start; what the phase wrote is untracked.
    git(repo, "clean", "-fdq", "out");
    const again = await rehearse({ repo, config: { max_remediations: 0 }, gates: "report" });
    expect(again.status).toBe("completed");
    expect(readFileSync(join(repo, "plan/phase-1.md"), "utf8")).toContain("**Status:** Completed");
  });
});

describe.concurrent("plans of other forms run too", () => {
  test("tagged tasks: gates judged by the number they print, progress written as an attribute", async () => {
    const plan = `# P\n\n<task id="1-01" type="auto" complexity="simple">\n### Task 1-01: Write it\n\n**Action:**\n- [ ] Create \`a.txt\`:\n\n  \`\`\`txt\n  warn 70\n  \`\`\`\n\n**Acceptance Criteria:**\n1. no old -- verified by: \`grep -c old a.txt\` (returns 0)\n2. warns -- verified by: \`grep -c warn a.txt\` (returns at least 1)\n</task>\n`;
    const repo = scratchRepo({ "PLAN.md": plan });
    const run = await rehearse({ repo });
    expect(run.status).toBe("completed");
    expect(run.of("gate-finished").map((event) => [event.passed, event.exit, event.why])).toEqual([
      [true, 1, "printed 0"],
      [true, 0, "printed 1"],
    ]);
    expect(git(repo, "show", "HEAD:PLAN.md")).toContain(
      '<task id="1-01" type="auto" complexity="simple" status="done">',
    );
  });

  test("a checklist, and a note that must be written and is not fails its phase", async () => {
    const list = scratchRepo({ "PLAN.md": "# L\n\n## One\n- [ ] Create `a.txt`\n\n## Two\n- [ ] Create `b.txt`\n" });
    const done = await rehearse({ repo: list });
    expect(done.status).toBe("completed");
    expect(git(list, "show", "HEAD:PLAN.md")).toBe(
      "# L\n\n## One\n- [x] Create `a.txt`\n\n## Two\n- [x] Create `b.txt`",
    );
    const noted = scratchRepo({
      "PLAN.md":
        "# Phase 1: Noted\n\n**Status:** Pending\n\n## Process Wrapper\n- [ ] Write `notes/N.md` with: what\n\n## Tasks\n- [ ] 1.1: Create `a.txt`\n",
    });
    const failed = await rehearse({ repo: noted, config: { max_remediations: 0 } });
    expect(failed.of("phase-failed")[0]).toMatchObject({
      category: "gate_failed",
      message: expect.stringContaining("notes/N.md was not written"),
    });
  });

  test("a manual gate asks for a person: everything else passed, nothing is called done", async () => {
    const repo = scratchRepo({
      "PLAN.md":
        '# P\n\n<task id="1" type="checkpoint:human-verify">\n### Task 1: Look\n\n- [ ] Create `a.txt`\n</task>\n',
    });
    const run = await rehearse({ repo, config: { ask_timeout_minutes: 0.02 } });
    expect(run.of("question-asked")[0]).toMatchObject({ kind: "gate", phase: "1" });
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "human_needed", recommendation: "ask" });
    expect(run.of("phase-done")).toEqual([]);
  });
});
