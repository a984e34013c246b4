/** Phases at once, in worktrees of their own, merged one by one: real git. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { answerQuestion } from "../../src/engine/questions.js";
import { kindsIn, readConversation } from "../../src/rehearsal/conversation.js";
import { call, message, say } from "../../src/rehearsal/reply.js";
import { blocksOf, type ModelRequest } from "../../src/rehearsal/request.js";
import { openQuestions } from "../../src/run/questions.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, type Rehearsed, rehearse, resumeRehearsal } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { TOOL_PREFIX } from "../support/tool-prefix.js";

const worktreesLeft = (run: Rehearsed): string[] =>
  existsSync(run.held.worktrees) ? readdirSync(run.held.worktrees) : [];

function expectClean(run: Rehearsed, repo: string): void {
  expect(git(repo, "status", "--porcelain")).toBe("");
  expect(git(repo, "branch", "--list", "segno/*")).toBe("");
  expect(worktreesLeft(run)).toEqual([]);
}

describe.concurrent("phases in parallel", () => {
  test("three independent phases and one that needs them: all at once, merged, gates green on the result", async () => {
    const three = ["1", "2", "3"].map((id) => ({ id, tasks: 2, gates: [`test -f out/${id}-2.txt`] }));
    const last = { id: "4", dependsOn: ["1", "2", "3"], gates: ["test $(ls out | wc -l) -eq 7"] };
    const repo = scratchRepo(planFiles([...three, last]));
    const run = await rehearse({ repo, config: { parallel: 3 } });
    expect(run.status).toBe("completed");
    expect(git(repo, "ls-files", "out").split("\n")).toHaveLength(7);
    expect(readFileSync(`${repo}/out/3-2.txt`, "utf8")).toContain("Task 3.2");
    const order = run.events.map((event) => event.type);
    expect(order.lastIndexOf("phase-started")).toBeGreaterThan(order.indexOf("phase-merged"));
    const firstEnd = run.of("phase-merged")[0]?.seq ?? 0;
    expect(run.of("session-started").filter((event) => event.seq < firstEnd).length).toBe(3);
    expect(
      run
        .of("phase-merged")
        .map((event) => event.phase)
        .toSorted(),
    ).toEqual(["1", "2", "3", "4"]);
    expect(git(repo, "show", "HEAD:PLAN.md")).not.toContain("Pending");
    expect(git(repo, "show", "HEAD:plan/phase-2.md")).toContain("[x] 2.1");
    expectClean(run, repo);
  });

  test("phases that change nothing git sees: merged all the same, and the user's index is as it was", async () => {
    const repo = scratchRepo({ ...planFiles([{ id: "1" }, { id: "2" }]), ".gitignore": "out/\n" });
    const run = await rehearse({ repo, config: { parallel: 2 } });
    expect(run.status, JSON.stringify(run.of("phase-failed"))).toBe("completed");
    expect(git(repo, "show", "HEAD:PLAN.md")).not.toContain("Pending");
    expectClean(run, repo);
  });

  test("two phases that conflict: a session resolves it in a worktree of the merged state, both sides are kept", async () => {
    const repo = scratchRepo({ ...planFiles(TWO), "list.txt": "first\n" });
    const run = await rehearse({ repo, config: { parallel: 2 }, behave: writing(BOTH_APPEND) });
    expect(run.status).toBe("completed");
    expect(run.of("merge-begun")[0]?.conflicts).toEqual(["list.txt"]);
    expect(run.of("session-started").filter((event) => event.purpose === "merge")).toHaveLength(1);
    const lines = git(repo, "show", "HEAD:list.txt").split("\n");
    expect(lines.toSorted()).toEqual(["first", "from 1", "from 2"]);
    expectClean(run, repo);
  });

  test("two that merge cleanly but break a test together: found, and repaired before it reaches the branch", async () => {
    const gate = "sh check.sh";
    const phases = TWO.map((phase) => ({ ...phase, gates: [gate] }));
    // Each alone is fine: only both together are too many.
    const files = { "check.sh": "test $(ls parts | wc -l) -le 2 || test -f allowed.txt\n", "parts/0": "0\n" };
    const repo = scratchRepo({ ...planFiles(phases), ...files });
    const run = await rehearse({
      repo,
      config: { parallel: 2 },
      behave: (request, worker) => {
        if (isMerge(request) && !/allowed.txt/.test(JSON.stringify(request.messages.slice(1))))
          return message(call("Write", { file_path: "allowed.txt", content: "three are fine\n" }));
        return writing({ "1": ["parts/1", "1"], "2": ["parts/2", "2"] })(request, worker);
      },
    });
    expect(run.status).toBe("completed");
    const merged = run.of("gate-finished").filter((event) => event.command.includes("/m1/"));
    expect(merged.map((event) => event.passed)).toEqual([false, true]);
    expect(git(repo, "show", "HEAD:allowed.txt")).toContain("fine");
    // No commit on the branch ever failed its gate.
    for (const sha of git(repo, "rev-list", "--first-parent", "HEAD").split("\n")) {
      const parts = git(repo, "ls-tree", "--name-only", sha, "parts/").split("\n").length;
      const allowed = git(repo, "ls-tree", "--name-only", sha, "allowed.txt") !== "";
      expect(parts <= 2 || allowed).toBe(true);
    }
    expectClean(run, repo);
  });

  test("a conflict that no session resolves: a person is asked, only the culprit is held back, its work stays; a resume merges what they repaired", async () => {
    const third = { id: "3", tasks: 2, gates: ["true"] };
    const repo = scratchRepo({ ...planFiles([...TWO, third]), "list.txt": "first\n" });
    let place = "";
    let answered = false;
    const run = await rehearse({
      repo,
      config: { parallel: 3, max_remediations: 1 },
      behave: (request, worker) => {
        if (isMerge(request))
          return hasCalled(request, "phase_result")
            ? message(say("Done."))
            : message(call(`${TOOL_PREFIX}phase_result`, { ...RESULT, tasks_completed: [] }));
        return writing(BOTH_APPEND)(request, worker);
      },
      onEvent: (event, held) => {
        if (held === undefined) return;
        if (event.type === "question-asked") {
          expect(event.kind).toBe("merge");
          place = held.checkouts.get(/Its work is on (\S+);/.exec(event.text)?.[1] ?? "") ?? "";
        }
        // What is not concerned is done while the question is open.
        const [open] = openQuestions(held.run.state);
        if (open !== undefined && held.run.state.phases.get("3")?.step === "done" && !answered) {
          answered = true;
          queueMicrotask(() => answerQuestion(held.run, open.id, "leave", "test"));
        }
      },
    });
    expect(run.status).toBe("failed");
    const [failed] = run.of("phase-failed");
    expect(failed).toMatchObject({ category: "merge_conflict" });
    expect(run.of("phase-done").map((event) => event.phase)).toContain("3");
    expect(run.of("phase-done")).toHaveLength(2);
    expect(existsSync(`${place}/list.txt`)).toBe(true);
    expect(git(repo, "status", "--porcelain", "--untracked-files=no")).toBe(
      ` M PLAN.md\n M plan/phase-${failed?.phase}.md`,
    );
    // A person resolves it where it is.
    writeFileSync(`${place}/list.txt`, "first\nfrom 1\nfrom 2\n");
    const resumed = await resumeRehearsal(run);
    expect(resumed).toBe("completed");
    expect(git(repo, "show", "HEAD:list.txt")).toBe("first\nfrom 1\nfrom 2");
    expectClean(run, repo);
  });

  test("phases that name the same files are worked on one after the other, and that is said", async () => {
    const owns = (id: string) =>
      `\n## Files\n\n| File | Action |\n|---|---|\n| \`shared/config.txt\` | Modify |\n<!-- ${id} -->\n`;
    const files = planFiles(["1", "2", "3"].map((id) => ({ id })));
    for (const id of ["1", "3"]) files[`plan/phase-${id}.md`] += owns(id);
    const repo = scratchRepo(files);
    const run = await rehearse({ repo, config: { parallel: 3 } });
    expect(run.status).toBe("completed");
    expect(run.of("phase-serialised")).toMatchObject([{ phase: "3", behind: "1", files: ["shared/config.txt"] }]);
    const done = run.of("phase-done").find((event) => event.phase === "1")?.seq ?? 0;
    expect(run.of("phase-started").find((event) => event.phase === "3")?.seq).toBeGreaterThan(done);
    expect(run.of("phase-started").find((event) => event.phase === "2")?.seq).toBeLessThan(done);
  });

  test("the user's checkout is brought along only where it is clean; a worktree is set up, ignored files and all", async () => {
    const repo = scratchRepo({
      ...planFiles([
        { id: "1", tasks: ["Write `a.txt`"], gates: ["test -f deps/installed"] },
        { id: "2", tasks: ["Write `b.txt`"], gates: ["test -f deps/installed"] },
      ]),
      ".gitignore": "deps\n",
      "a.txt": "old a\n",
    });
    writeFileSync(`${repo}/a.txt`, "mine\n");
    const run = await rehearse({
      repo,
      allowDirty: true,
      config: {
        parallel: 2,
        gates_before: false,
        worktree_setup: 'mkdir deps && echo "$SEGNO_CHECKOUT" > deps/installed',
      },
      behave: writing({ "1": ["a.txt", "new a"], "2": ["b.txt", "new b"] }),
    });
    expect(run.status).toBe("completed");
    expect(readFileSync(`${repo}/a.txt`, "utf8")).toBe("mine\n");
    expect(readFileSync(`${repo}/b.txt`, "utf8")).toBe("new b\n");
    expect(git(repo, "show", "HEAD:a.txt")).toBe("new a");
    expect(run.of("phase-merged").flatMap((event) => event.leftBehind)).toEqual(["a.txt"]);
    expect(git(repo, "diff", "--cached", "--name-only")).toBe("");
    expect(git(repo, "status", "--porcelain")).toBe(" M a.txt");
  });

  test("a worktree that cannot be set up fails its phase, with what the command said", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({ repo, config: { parallel: 2, worktree_setup: "echo no space here; exit 3" } });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]?.message).toMatch(/worktree_setup.*exit.*3[\s\S]*no space here/);
  });
});

const TWO = ["1", "2"].map((id) => ({ id, tasks: ["Extend the list"], gates: ["true"] }));
const BOTH_APPEND = { "1": ["list.txt", "first\nfrom 1"], "2": ["list.txt", "first\nfrom 2"] } as const;

const RESULT = {
  status: "completed",
  summary: "done",
  tasks_remaining: [],
  files_modified: [],
  decisions: [],
};

const isMerge = (request: ModelRequest): boolean => kindsIn(readConversation(request).prompt).includes("merge");

const hasCalled = (request: ModelRequest, tool: string): boolean =>
  request.messages.some((each) =>
    blocksOf(each).some((block) => block.type === "tool_use" && block.name === `${TOOL_PREFIX}${tool}`),
  );

/** A model that writes one file in each phase, and ends it. */
const writing =
  (files: Readonly<Record<string, readonly [string, string]>>): NonNullable<RehearsalOptions["behave"]> =>
  (request, worker) => {
    const { phase, tools, prompt } = readConversation(request);
    const file = files[phase];
    if (file === undefined || !tools.has("Bash") || kindsIn(prompt).includes("merge")) return worker(request);
    if (hasCalled(request, "phase_result")) return message(say("Done."));
    const written = request.messages.some((each) =>
      blocksOf(each).some((block) => block.type === "tool_use" && block.name === "Bash"),
    );
    if (written) return message(call(`${TOOL_PREFIX}phase_result`, { ...RESULT, tasks_completed: [`${phase}.1`] }));
    const command = `mkdir -p $(dirname ${file[0]}) && printf '%s\\n' '${file[1]}' > ${file[0]}`;
    return message(call("Bash", { command, description: "Write the file" }));
  };
