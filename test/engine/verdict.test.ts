import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, message, say } from "../../src/rehearsal/reply.js";
import { firstly } from "../support/behaviours.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

describe.concurrent("done means verified", () => {
  test("an agent that never reports a result gets one nudge, then the phase fails with that reason", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const run = await rehearse({ repo, behave: () => message(say("I think I am done.")) });
    expect(run.status).toBe("failed");
    expect(run.of("turn-started").map((event) => event.turn)).toEqual(["work", "nudge"]);
    expect(run.of("phase-failed").map((event) => [event.phase, event.category, event.message])).toEqual([
      ["1", "agent_error", expect.stringContaining("without reporting a result")],
    ]);
    expect(run.of("phase-started")).toHaveLength(1);
  });

  test("a gate that fails is repaired in a session that sees its output", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["test -f repaired.txt"] }]));
    const run = await rehearse({ repo });
    expect(run.status).toBe("completed");
    expect(run.of("gate-finished").map((event) => event.passed)).toEqual([false, true]);
    expect(run.of("session-started").map((event) => event.purpose)).toEqual(["work", "remediate"]);
    expect(git(repo, "show", "--name-only", "--format=", "HEAD")).toContain("repaired.txt");
  });

  test("a gate that keeps failing: the phase is not done, whatever the agent says, and its dependants wait", async () => {
    const repo = scratchRepo(
      planFiles([{ id: "1", gates: ["echo broken; exit 3"] }, { id: "2", dependsOn: ["1"] }, { id: "3" }]),
    );
    const run = await rehearse({ repo, config: { max_remediations: 1 } });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]).toMatchObject({
      phase: "1",
      category: "gate_failed",
      message: expect.stringContaining("exit 3"),
    });
    expect(run.of("phase-done").map((event) => event.phase)).toEqual(["3"]);
    const output = await run.held.run.getBlob(run.of("gate-finished")[0]?.output ?? "sha256:");
    expect(output).toBe("broken\n");
  });

  test("in a rehearsal that only reports gates, a failing one does not block, and the phase counts as unverified", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["false"] }]));
    const run = await rehearse({ repo, gates: "report" });
    expect(run.status).toBe("completed");
    expect(run.of("phase-done")[0]?.verified).toBe(false);
  });

  test("what the agent edits in the plan is reported, left out of the commit, and changes no gate", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["test -f out/1-1.txt"] }]));
    const run = await rehearse({
      repo,
      behave: firstly(
        call("Bash", {
          command: "sed -i 's/test -f out.1-1.txt/true/; s/- \\[ \\] 1.1/- [x] 1.1/' plan/phase-1.md",
          description: "cheat",
        }),
      ),
    });
    expect(run.status).toBe("completed");
    expect(run.of("plan-edited-by-agent")[0]?.files).toEqual(["plan/phase-1.md"]);
    expect(run.of("gate-finished")).toHaveLength(1);
    expect(git(repo, "show", "HEAD:plan/phase-1.md")).toContain("test -f out/1-1.txt");
    expect(git(repo, "show", "HEAD:plan/phase-1.md")).toContain("**Status:** Completed");
  });

  test("a bad tool call gets an answer the model can act on", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    let calls = 0;
    let answer = "";
    const run = await rehearse({
      repo,
      behave: (request, worker) => {
        if ((request.tools ?? []).length === 0) return worker(request);
        if (++calls === 1) return message(call("mcp__segno__phase_result", { status: "finished" }));
        if (calls === 2) answer = JSON.stringify(request.messages.slice(-2));
        return worker(request);
      },
    });
    expect(answer).toContain("Nothing was recorded: the input of phase_result is not valid.");
    expect(run.of("result-reported")).toHaveLength(1);
    expect(run.status).toBe("completed");
  });
});

describe.concurrent("the user's own work", () => {
  test("untracked and dirty files stay untouched and uncommitted, and the user's next commit does not revert the phase", async () => {
    const repo = scratchRepo({ ...planFiles([{ id: "1" }]), "mine.txt": "committed\n", "staged.txt": "committed\n" });
    writeFileSync(join(repo, "mine.txt"), "edited\n");
    writeFileSync(join(repo, "staged.txt"), "staged\n");
    git(repo, "add", "staged.txt");
    writeFileSync(join(repo, "notes.txt"), "untracked\n");
    const run = await rehearse({ repo, allowDirty: true });
    expect(run.status).toBe("completed");
    expect(git(repo, "show", "--name-only", "--format=", "HEAD").split("\n").sort()).toEqual([
      "PLAN.md",
      "out/1-1.txt",
      "plan/phase-1.md",
    ]);
    expect(git(repo, "status", "--porcelain").split("\n")).toEqual([" M mine.txt", "M  staged.txt", "?? notes.txt"]);
    git(repo, "commit", "--quiet", "-m", "the user goes on");
    expect(git(repo, "show", "--name-only", "--format=", "HEAD")).toBe("staged.txt");
    expect(git(repo, "ls-files", "out")).toBe("out/1-1.txt");
  });

  test("commits that the agent makes itself are kept, and the phase's commit follows on them", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({
      repo,
      behave: firstly(
        call("Bash", {
          command:
            "echo own > own.txt && git add own.txt && git -c user.name=a -c user.email=a@a.invalid commit -qm own",
          description: "commit",
        }),
      ),
    });
    expect(run.status).toBe("completed");
    expect(git(repo, "log", "--format=%s")).toBe("Segno: Phase 1 - Phase 1 ✓\nown\nstart");
    expect(git(repo, "status", "--porcelain")).toBe("");
  });

  test("an agent that moves the branch to another history fails the phase, and nothing is lost", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "second");
    const run = await rehearse({
      repo,
      behave: firstly(
        call("Bash", {
          command:
            "git update-ref refs/heads/main $(git -c user.name=a -c user.email=a@a.invalid commit-tree -m other HEAD^{tree})",
          description: "reset",
        }),
      ),
    });
    expect(run.status).toBe("failed");
    expect(run.of("commit-failed")[0]?.why).toContain("HEAD was moved");
    expect(run.of("phase-failed")[0]?.phase).toBe("1");
  });
});
