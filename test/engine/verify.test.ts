/** Done means verified: questions to people, independent review, what looks wrong, clean checkouts. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerQuestion } from "../../src/engine/questions.js";
import { kindsIn } from "../../src/rehearsal/conversation.js";
import { call, message, say } from "../../src/rehearsal/reply.js";
import { type ModelRequest, userTexts } from "../../src/rehearsal/request.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

const isWork = (request: ModelRequest): boolean => (request.tools ?? []).length > 0;
const answering =
  (answers: Record<string, string>): NonNullable<RehearsalOptions["onEvent"]> =>
  (event, held) => {
    if (event.type !== "question-asked" || held === undefined) return;
    const answer = answers[event.kind];
    if (answer !== undefined) queueMicrotask(() => answerQuestion(held.run, event.question, answer, "test"));
  };
const needsHuman = call("mcp__segno__phase_result", {
  status: "needs_human_verification",
  summary: "Please look at the colours.",
  tasks_completed: ["1.1"],
  tasks_remaining: [],
  files_modified: [],
  decisions: [],
});

describe.concurrent("questions to a person", () => {
  const asksForHuman: RehearsalOptions["behave"] = (request, worker) => {
    const text = userTexts(request).join("\n");
    if (!isWork(request) || !text.includes("# Phase 1:") || text.includes("## Failing gates")) return worker(request);
    return JSON.stringify(request.messages).includes('out/1-1.txt","content') ||
      JSON.stringify(request.messages).includes('"Write"')
      ? message(needsHuman)
      : worker(request);
  };

  test("an agent that wants a person to look: the phase waits, an independent one goes on, `pass` finishes it", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }, { id: "3", dependsOn: ["1"] }]));
    const order: string[] = [];
    const run = await rehearse({
      repo,
      behave: asksForHuman,
      onEvent: (event, held) => {
        if (event.type === "phase-started" || event.type === "phase-done") order.push(`${event.type} ${event.phase}`);
        if (event.type === "phase-done" && event.phase === "2" && held !== undefined)
          queueMicrotask(() => answerQuestion(held.run, undefined, "pass", "test"));
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("question-asked")[0]).toMatchObject({
      kind: "verify",
      phase: "1",
      text: expect.stringContaining("Please look at the colours."),
    });
    expect(order).toEqual([
      "phase-started 1",
      "phase-started 2",
      "phase-done 2",
      "phase-done 1",
      "phase-started 3",
      "phase-done 3",
    ]);
    // What phase 1 did is in a commit before phase 2 begins in the same checkout, and in no other.
    expect(git(repo, "log", "--format=%s", "--", "out/1-1.txt").split("\n")).toHaveLength(1);
    expect(git(repo, "log", "--format=%s", "--", "out/2-1.txt").split("\n")).toHaveLength(1);
    expect(git(repo, "status", "--porcelain")).toBe("");
  });

  test("nobody answers: the phase is left as human_needed, and a resume asks again", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const place = await site({ repo, behave: asksForHuman });
    const left = await place.segno(["run", "PLAN.md"], { env: { SEGNO_ASK_TIMEOUT_MINUTES: "0.02" } }).ended;
    expect(left.code).toBe(4);
    expect(left.stdout).toContain("human_needed");
    const again = place.segno(["resume", "--json"]);
    await again.event((event) => event.type === "question-asked");
    expect((await place.segno(["answer", "p"]).ended).code).toBe(0);
    expect((await again.ended).code).toBe(0);
    expect(place.done).toEqual(["1/1.1"]);
  });

  test("a manual gate is a question after all others; `fail` goes to repair", async () => {
    const repo = scratchRepo({
      ...planFiles([{ id: "1" }]),
      ".segno/config.yaml": "gates: {looks good: manual}\n",
    });
    const file = join(repo, "plan/phase-1.md");
    const text = readFileSync(file, "utf8").replace("## Gates\n", "## Gates\n\n- looks good: a person says so\n");
    git(repo, "config", "user.name", "t");
    (await import("node:fs")).writeFileSync(file, text);
    git(repo, "commit", "-qam", "a manual gate");
    const place = await site({ repo });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    const first = await running.event((event) => event.type === "question-asked");
    expect(first).toMatchObject({ kind: "gate", text: expect.stringContaining("looks good") });
    await place.segno(["answer", "fail"]).ended;
    await running.event((event) => event.type === "session-started" && event.purpose === "remediate");
    await running.event((event) => event.type === "question-asked" && event.seq > first.seq);
    await place.segno(["answer", "pass"]).ended;
    expect((await running.ended).code).toBe(0);
  });

  test("--checkpoint-every 1 asks after each phase; `stop` stops there", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }]));
    const run = await rehearse({ repo, config: { checkpoint_every: 1 }, onEvent: answering({ checkpoint: "stop" }) });
    expect(run.status).toBe("stopped");
    expect(run.of("question-asked")[0]?.text).toBe("1 of 2 phases are done. Go on?");
    const on = await rehearse({
      repo: scratchRepo(planFiles([{ id: "1" }, { id: "2" }])),
      config: { checkpoint_every: 1 },
      onEvent: answering({ checkpoint: "c" }),
    });
    expect(on.status).toBe("completed");
    expect(on.of("question-asked")).toHaveLength(1);
  });

  test.each([
    ["continue", "completed", "done"],
    ["skip", "completed", "skipped"],
    ["abort", "stopped", "failed"],
    ["leave", "failed", "failed"],
  ])("after a failure at a terminal: %s", async (choice, status, step) => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["false"] }, { id: "2" }]));
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: answering({ failure: choice }),
    });
    expect(run.status).toBe(status);
    expect(run.held.run.state.phases.get("1")?.step).toBe(step);
    const asked = run.of("question-asked")[0];
    expect(asked).toMatchObject({ kind: "failure", text: expect.stringContaining("Phase 1 failed (gate_failed)") });
    if (choice === "continue") {
      expect(run.of("phase-done").find((event) => event.phase === "1")?.verified).toBe(false);
      expect(git(repo, "show", "HEAD:out/1-1.txt")).not.toBe("");
    }
  });

  test("after a failure at a terminal: revise tries again with what the plan says then", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["test -f wanted.txt"] }]));
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: (event, held) => {
        if (event.type !== "question-asked" || held === undefined) return;
        const file = join(repo, "plan/phase-1.md");
        queueMicrotask(async () => {
          const { writeFileSync } = await import("node:fs");
          writeFileSync(file, readFileSync(file, "utf8").replace("test -f wanted.txt", "test -f out/1-1.txt"));
          answerQuestion(held.run, event.question, "revise", "test");
        });
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("plan-changed")).toHaveLength(1);
    expect(run.of("phase-started").map((event) => event.attempt)).toEqual([1, 2]);
  });

  test("on_failure: stop begins nothing else", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["false"] }, { id: "2" }]));
    const run = await rehearse({ repo, config: { max_remediations: 0, on_failure: "stop" } });
    expect(run.status).toBe("failed");
    expect(run.of("phase-started").map((event) => event.phase)).toEqual(["1"]);
  });
});

describe.concurrent("independent verification", () => {
  const verdict = (verdictOf: "pass" | "fail", evidence: string) =>
    call("mcp__segno__verdict", {
      criteria: [{ criterion: "not a task", verdict: verdictOf, evidence, why: "I looked." }],
    });
  const isReview = (request: ModelRequest): boolean =>
    userTexts(request).some((text) => kindsIn(text).includes("verify"));

  test("a session that sees only criteria and diff; a pass with evidence counts", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const seen: string[] = [];
    const run = await rehearse({
      repo,
      config: { verify: "agent" },
      behave: (request, worker) => {
        if (!isReview(request)) return worker(request);
        if (!isWork(request)) return message(say("ok"));
        seen.push(userTexts(request).join("\n"));
        return message(verdict("pass", "out/1-1.txt:1"));
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("session-started").map((event) => event.purpose)).toEqual(["work", "verify"]);
    expect(run.of("verdict-reported")[0]?.verdicts).toEqual([
      { criterion: "not a task", passed: true, evidence: "out/1-1.txt:1", why: "I looked." },
    ]);
    expect(seen[0]).toContain("1. not a task");
    expect(seen[0]).toContain("+++ b/out/1-1.txt");
    expect(seen[0]).not.toContain("All 2 tasks are done");
  });

  test("a phase can ask for it in its own text, and only that phase is judged", async () => {
    const files = planFiles([{ id: "1" }, { id: "2" }]);
    const text = String(files["plan/phase-2.md"]).replace(
      "**Depends On:** None",
      "**Depends On:** None\n**Verify:** agent",
    );
    const run = await rehearse({ repo: scratchRepo({ ...files, "plan/phase-2.md": text }) });
    expect(run.status).toBe("completed");
    expect(run.of("verdict-reported").map((event) => event.phase)).toEqual(["2"]);
  });

  test("the stand-in judges too, so that a rehearsal can show it", async () => {
    const run = await rehearse({ repo: scratchRepo(planFiles([{ id: "1" }])), config: { verify: "agent" } });
    expect(run.status).toBe("completed");
    expect(run.of("verdict-reported")[0]?.verdicts[0]?.passed).toBe(true);
  });

  test("a pass without evidence, or with a file that is not there, counts as a fail and goes to repair", async () => {
    const evidence = ["", "nowhere.ts:3", "out/1-1.txt:1"];
    const run = await rehearse({
      repo: scratchRepo(planFiles([{ id: "1" }])),
      config: { verify: "agent" },
      behave: (request, worker) => {
        if (!isReview(request)) return worker(request);
        return isWork(request) ? message(verdict("pass", evidence.shift() ?? "")) : message(say("ok"));
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("session-started").map((event) => event.purpose)).toEqual([
      "work",
      "verify",
      "remediate",
      "verify",
      "remediate",
      "verify",
    ]);
    expect(run.of("verdict-reported").map((event) => event.verdicts[0]?.why)).toEqual([
      "called met without a file and line as evidence",
      "called met on the evidence of nowhere.ts, which does not exist",
      "I looked.",
    ]);
  });
});

describe.concurrent("gates", () => {
  test("run before the first phase: red ones are reported; fail fast stops at the first", async () => {
    const gates = ["test -d .git", "test -f never.txt", "true"];
    const run = await rehearse({
      repo: scratchRepo(planFiles([{ id: "1", gates }])),
      config: { max_remediations: 0, gates_fail_fast: true },
    });
    expect(run.of("gates-baselined")[0]?.results.map(({ command, passed }) => [command, passed])).toEqual([
      ["test -d .git", true],
      ["test -f never.txt", false],
      ["true", true],
    ]);
    expect(run.of("gate-finished").map(({ gate, passed }) => [gate, passed])).toEqual([
      ["g1", true],
      ["g2", false],
    ]);
  });

  test("gates_on: clean does not see what is ignored, and is prepared by worktree_setup", async () => {
    const files = {
      ...planFiles([{ id: "1", gates: ["test ! -e ignored.txt && test -f out/1-1.txt && test -f prepared"] }]),
      ".gitignore": "ignored.txt\nprepared\n",
    };
    const repo = scratchRepo(files);
    (await import("node:fs")).writeFileSync(join(repo, "ignored.txt"), "x");
    const config = {
      gates_on: "clean" as const,
      worktree_setup: "touch prepared && test -d $SEGNO_CHECKOUT/.git",
      gates_before: false,
    };
    const run = await rehearse({ repo, config });
    expect(run.status).toBe("completed");
    expect(git(repo, "worktree", "list").split("\n")).toHaveLength(1);
    expect(existsSync(join(repo, "ignored.txt"))).toBe(true);
  });
});
