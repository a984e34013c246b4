/** The merge train: phases that finish together are tested together, each behind those before it. Real git. */
import { describe, expect, test } from "vitest";
import { kindsIn, readConversation } from "../../src/rehearsal/conversation.js";
import { call, message } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, type Rehearsed, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { TOOL_PREFIX } from "../support/tool-prefix.js";

const SIX = ["1", "2", "3", "4", "5", "6"];

/** Nobody ends their phase before all have come so far. */
function together(
  phases: readonly string[],
  more?: RehearsalOptions["behave"],
): NonNullable<RehearsalOptions["behave"]> {
  const waiting = new Set<string>();
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return async (request, worker) => {
    const reply = await (more ?? ((asked, work) => work(asked)))(request, worker);
    const { phase, prompt } = readConversation(request);
    const ends = reply.type === "message" && JSON.stringify(reply.content).includes("phase_result");
    if (!ends || kindsIn(prompt).includes("merge") || !phases.includes(phase)) return reply;
    waiting.add(phase);
    if (waiting.size === phases.length) open();
    await all;
    return reply;
  };
}

/** Gates that take a moment, so that all of them are under way at the same time. */
const plan = (gate: (id: string) => string) => planFiles(SIX.map((id) => ({ id, gates: [`sleep 0.5; ${gate(id)}`] })));

const ranOf = (run: Rehearsed, phase: string): number =>
  run.of("gate-finished").filter((event) => event.phase === phase).length;

function expectOneMergeEach(run: Rehearsed, repo: string): void {
  const merged = run.of("phase-merged").map(({ sha }) => sha);
  expect(git(repo, "log", "--first-parent", "--reverse", "--format=%H", `${merged[0]}^1..HEAD`).split("\n")).toEqual(
    merged,
  );
  expect(git(repo, "status", "--porcelain")).toBe("");
  expect(git(repo, "branch", "--list", "segno/*")).toBe("");
  expect(git(repo, "for-each-ref", "refs/segno/*/train")).toBe("");
  expect(git(repo, "show", "HEAD:PLAN.md")).not.toContain("Pending");
}

describe.concurrent("six phases that finish together", () => {
  test("run each gate twice, once alone and once in the train, and make one merge commit each", async () => {
    const repo = scratchRepo(plan((id) => `test -f out/${id}-1.txt`));
    const run = await rehearse({ repo, config: { parallel: 6 }, behave: together(SIX) });
    expect(run.status).toBe("completed");
    for (const id of SIX) expect(ranOf(run, id)).toBeLessThanOrEqual(2);
    expect(run.of("gate-finished").length).toBeLessThanOrEqual(11);
    // Those behind the first are coupled to each other, and tested at the same time.
    const begun = run.of("merge-begun");
    expect(begun.filter(({ behind }) => behind !== undefined).length).toBeGreaterThanOrEqual(3);
    expectOneMergeEach(run, repo);
    // The phase's own commit, and nothing that was merged in between.
    expect(git(repo, "log", "--no-merges", "--format=%s", "HEAD").split("\n")).toHaveLength(SIX.length + 1);
  });

  test("one that does not fit with another leaves, is repaired, and only those behind it are taken in anew", async () => {
    const APART = "test ! -f out/2-1.txt || test ! -f out/4-1.txt || test -f repaired.txt";
    const repairs = (request: ModelRequest, worker: Parameters<NonNullable<RehearsalOptions["behave"]>>[1]) => {
      const { prompt, turns, tools } = readConversation(request);
      if (!kindsIn(prompt).includes("merge") || !tools.has("Bash")) return worker(request);
      const wrote = turns.some((turn) => turn.calls.some(({ name }) => name === "Write"));
      const result = { status: "completed", summary: "s", tasks_completed: [], tasks_remaining: [] };
      return wrote
        ? message(call(`${TOOL_PREFIX}phase_result`, { ...result, files_modified: [], decisions: [] }))
        : message(call("Write", { file_path: "repaired.txt", content: "repaired\n" }));
    };
    const repo = scratchRepo(plan(() => APART));
    const run = await rehearse({ repo, config: { parallel: 6 }, behave: together(SIX, repairs) });
    expect(run.status).toBe("completed");
    const sessions = run.of("session-started").filter(({ purpose }) => purpose === "merge");
    expect(sessions).toHaveLength(1);
    const culprit = sessions[0]?.phase ?? "";
    expect(["2", "4"]).toContain(culprit);
    // What was never before it in the train was not tested again because of it.
    const landed = run.of("phase-merged").map(({ phase }) => phase);
    const first = run.of("merge-begun").find(({ phase }) => phase === culprit)?.behind;
    for (const id of landed.slice(0, landed.indexOf(first ?? "") + 1)) expect(ranOf(run, id)).toBeLessThanOrEqual(2);
    expect(git(repo, "show", "HEAD:repaired.txt")).toBe("repaired");
    expectOneMergeEach(run, repo);
  });

  test("the branch never holds a state that fails", async () => {
    const APART = "test ! -f out/1-1.txt || test ! -f out/6-1.txt";
    const repo = scratchRepo(plan(() => APART));
    const config = { parallel: 6, max_remediations: 1, ask_timeout_minutes: 0.01 };
    const run = await rehearse({ repo, config, behave: together(SIX) });
    expect(run.status).toBe("failed");
    expect(run.of("phase-merged")).toHaveLength(5);
    expect(run.of("phase-failed")).toMatchObject([{ category: "merge_conflict" }]);
    for (const sha of git(repo, "log", "--first-parent", "--format=%H").split("\n")) {
      const files = git(repo, "ls-tree", "-r", "--name-only", sha);
      expect(files.includes("out/1-1.txt") && files.includes("out/6-1.txt")).toBe(false);
    }
  });
});
