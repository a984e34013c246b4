/** Phases at once, in worktrees of their own, merged one by one: real git, real Claude Code. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { type Rehearsed, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const worktreesLeft = (run: Rehearsed): string[] =>
  existsSync(run.world.worktrees) ? readdirSync(run.world.worktrees) : [];

function expectClean(run: Rehearsed, repo: string): void {
  expect(git(repo, "status", "--porcelain")).toBe("");
  expect(git(repo, "branch", "--list", "segno/*")).toBe("");
  expect(worktreesLeft(run)).toEqual([]);
}

describe.concurrent("phases in parallel, with the real Claude Code", () => {
  test("four independent phases and one that needs them: all at once, merged, gates green on the result", async () => {
    const four = ["1", "2", "3", "4"].map((id) => ({ id, tasks: 2, gates: [`test -f out/${id}-2.txt`] }));
    const last = { id: "5", dependsOn: ["1", "2", "3", "4"], gates: ["test $(ls out | wc -l) -eq 9"] };
    const repo = scratchRepo(planFiles([...four, last]));
    const run = await rehearse({ repo, config: { parallel: 4 } });
    expect(run.status).toBe("completed");
    expect(git(repo, "ls-files", "out").split("\n")).toHaveLength(9);
    expect(readFileSync(`${repo}/out/3-2.txt`, "utf8")).toContain("Task 3.2");
    const order = run.events.map((event) => event.type);
    expect(order.lastIndexOf("phase-started")).toBeGreaterThan(order.indexOf("phase-merged"));
    const firstEnd = run.events.find((event) => event.type === "session-ended")?.seq ?? 0;
    expect(run.of("session-started").filter((event) => event.seq < firstEnd).length).toBe(4);
    expect(
      run
        .of("phase-merged")
        .map((event) => event.phase)
        .toSorted(),
    ).toEqual(["1", "2", "3", "4", "5"]);
    expect(git(repo, "show", "HEAD:PLAN.md")).not.toContain("Pending");
    expect(git(repo, "show", "HEAD:plan/phase-2.md")).toContain("[x] 2.1");
    expectClean(run, repo);
  });
});
