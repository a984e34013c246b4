import { describe, expect, test } from "vitest";
import { answerQuestion } from "../../src/engine/questions.js";
import { call, message } from "../../src/rehearsal/reply.js";
import { type ModelRequest, promptTokens } from "../../src/rehearsal/request.js";
import type { RunEvent } from "../../src/run/event.js";
import { lineOf } from "../../src/view/lines.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";

const phase = (tasks: number, gates = ["true"]) => scratchRepo(planFiles([{ id: "1", tasks, gates }]));
const ids = (n: number, phaseId = "1") => Array.from({ length: n }, (_, index) => `${phaseId}/${phaseId}.${index + 1}`);

/** Answers every question with this, as soon as it is asked. */
const answering =
  (choice: string): NonNullable<RehearsalOptions["onEvent"]> =>
  (event, held) => {
    if (event.type === "question-asked" && held !== undefined)
      queueMicrotask(() => answerQuestion(held.run, event.question, choice, "test"));
  };

describe.concurrent("context policies", () => {
  test.each([
    ["the whole window of 200,000", {}, 18, 29_000],
    ["a reduced context_limit", { context_limit: 60_000 }, 12, 20_000],
  ])("the default policy never lets the agent compact, at %s", async (_, config, tasks, charsPerTask) => {
    const run = await rehearse({ repo: phase(tasks), charsPerTask, config });
    expect(run.status).toBe("completed");
    expect(run.of("compacted")).toEqual([]);
    expect(run.of("session-ended").filter((event) => event.reason === "handed-over").length).toBeGreaterThan(0);
    expect(run.done).toEqual(ids(tasks));
  });

  test("soft: from 65 % on the session ends at a reported task, with the rule and the reading in one event", async () => {
    const run = await rehearse({
      repo: phase(8),
      charsPerTask: 12_000,
      config: { context_limit: 60_000, context_soft: 65 },
    });
    expect(run.status).toBe("completed");
    const [decided] = run.of("boundary-decided");
    expect(decided).toMatchObject({ why: "context", rule: "soft", threshold: 39_000 });
    expect(decided?.reason).toContain("a task was reported done");
    expect(decided?.reading.percent).toBeGreaterThanOrEqual(65);
    expect(decided?.reading.percent).toBeLessThan(80);
  });

  test("soft counts a gate's own command that the agent ran, and nothing else before 80 %", async () => {
    const FILL =
      'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "line $i of some output that fills the window, word by word"; done';
    const moves = [FILL, FILL, FILL, FILL, FILL, "test -f PLAN.md"];
    const run = await rehearse({
      repo: phase(1, ["test -f PLAN.md"]),
      config: { context_limit: 54_000, context_soft: 65 },
      behave: (request, worker) => {
        const next = (request.tools ?? []).length > 0 ? moves.shift() : undefined;
        return next === undefined ? worker(request) : message(call("Bash", { command: next, description: "fill" }));
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("boundary-decided")[0]).toMatchObject({ rule: "soft" });
    expect(run.of("boundary-decided")[0]?.reason).toContain("a gate's command passed");
  });

  test("auto: hands over where it is cheaper than going on, and shows its arithmetic", async () => {
    const run = await rehearse({ repo: phase(26), charsPerTask: 20_000 });
    expect(run.status).toBe("completed");
    expect(run.done).toEqual(ids(26));
    const decided = run.of("boundary-decided");
    expect(decided.length).toBeGreaterThan(0);
    for (const event of decided) {
      expect(event.rule).toBe("economy");
      expect(event.reason).toMatch(
        /rereading \d+ tokens in \d+ calls that are left would cost \$[\d.]+, at least 2 × \$[\d.]+ for a handover/,
      );
      expect(event.reading.percent).toBeLessThan(65);
    }
  });

  test("what would only look around for the next task is not begun: the session is handed over inside the batch", async () => {
    const run = await rehearse({
      repo: phase(26),
      charsPerTask: 20_000,
      // Every task begins with a look at the plan, in the same message as the report of the one before.
      behave: async (request, worker) => {
        const reply = await worker(request);
        if (
          reply.type !== "message" ||
          !reply.content.some((block) => block.type === "tool_use" && block.name === "Write")
        )
          return reply;
        const at = reply.content.findIndex((block) => block.type === "tool_use" && !block.name.startsWith("mcp__"));
        return { ...reply, content: reply.content.toSpliced(at, 0, call("Read", { file_path: "PLAN.md" })) };
      },
    });
    expect(run.status).toBe("completed");
    expect(run.done).toEqual(ids(26));
    const decided = run.of("boundary-decided");
    expect(decided.length).toBeGreaterThan(0);
    for (const event of decided) {
      const before = run.of("tool-finished").filter(({ seq, kind }) => seq < event.seq && kind !== "segno");
      expect(before.slice(-3).map(({ tool, ok }) => [tool, ok])).toEqual([
        ["Read", false],
        ["Bash", false],
        ["Write", false],
      ]);
    }
  });

  test("stop: a checkpoint is saved, the work committed, and the run stops to be resumed", async () => {
    const run = await rehearse({
      repo: phase(8),
      charsPerTask: 9_000,
      config: { context_policy: "stop", context_limit: 45_000 },
    });
    expect(run.status).toBe("stopped");
    expect(run.of("boundary-decided")[0]).toMatchObject({ why: "stop-requested", rule: "threshold" });
    expect(run.of("checkpoint-saved")).toHaveLength(1);
    expect(run.of("commit-made")[0]?.kind).toBe("handover");
  });

  test("a run of calls that grow alike is handed over one call before it would cross the window", async () => {
    // About 65,000 tokens a call: what two of them leave is below the threshold, and a third would cross the window.
    const BIG =
      'for k in 1 2 3; do :; done; i=0; while [ $i -lt 330 ]; do i=$((i+1)); echo "line $i of a long output that fills the window quickly, word after word after word"; done';
    let moves = 4;
    const run = await rehearse({
      repo: phase(1),
      config: { context_threshold: 88 },
      behave: (request, worker) => {
        if ((request.tools ?? []).length === 0 || moves-- <= 0) return worker(request);
        return message(
          ...Array.from({ length: 7 }, (_, n) =>
            call("Bash", { command: `: ${moves} ${n}; ${BIG}`, description: "fill" }),
          ),
        );
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("compacted")).toEqual([]);
    expect(run.of("boundary-decided")[0]).toMatchObject({ rule: "forecast", why: "context" });
    expect(run.of("boundary-decided")[0]?.reading.percent).toBeLessThan(88);
  });

  test("a cap in tokens hands over at the next tool boundary, whatever the window", async () => {
    const run = await rehearse({
      repo: phase(6),
      charsPerTask: 9_000,
      window: 1_000_000,
      config: { context_max_tokens: 32_000, context_soft: "off" },
    });
    expect(run.status).toBe("completed");
    expect(run.done).toEqual(ids(6));
    expect(run.of("window-known")[0]?.hands).toEqual({ tokens: 32_000, rule: "cap", soft: "off" });
    expect(lineOf(run.of("window-known")[0] as RunEvent)?.text).toBe(
      "window 1.0M tokens; handed over at 32k (3 %, context_max_tokens)",
    );
    const decided = run.of("boundary-decided");
    expect(decided.length).toBeGreaterThan(0);
    for (const { rule, reading } of decided) {
      expect(rule).toBe("cap");
      expect(reading.tokens).toBeLessThan(40_000);
    }
  });

  test("a window that turns out smaller than it was said to be is learned, said once, and counts from then on", async () => {
    const repo = phase(12);
    const told = { context_soft: "off" as const, context_max_tokens: "off" as const };
    const run = await rehearse({
      repo,
      charsPerTask: 9_000,
      config: told,
      behave: (request, worker) =>
        promptTokens(request) > 40_000
          ? { type: "error", status: 400, error: "x", message: "prompt is too long: 41000 tokens > 40000 maximum" }
          : worker(request),
    });
    expect(run.status).toBe("completed");
    expect(new Set(run.done)).toEqual(new Set(ids(12)));
    const warnings = run.of("warned").filter(({ message: said }) => said.includes("is 40000 tokens here, not 200000"));
    expect(warnings).toHaveLength(1);
    // The sessions after it are handed over before it is full.
    const reasons = run.of("session-ended").map(({ reason }) => reason);
    expect(reasons[0]).toBe("context-full");
    expect(new Set(reasons.slice(1))).toEqual(new Set(["handed-over", "result"]));
    expect(run.of("window-known").at(-1)).toMatchObject({ window: 40_000, hands: { tokens: 27_300, rule: "agent" } });
    const { windows } = await run.held.store.learned("in-process");
    expect(windows).toEqual({ "claude-sonnet-4-5": 40_000 });
  });

  test("usage that never comes: estimated, warned of once, and handed over after tool_call_threshold", async () => {
    const run = await rehearse({
      repo: phase(4),
      config: { tool_call_threshold: 5 },
      behave: async (request, worker) => {
        const reply = await worker(request);
        return reply.type === "message" ? { ...reply, silent: true } : reply;
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("session-started").length).toBeGreaterThan(1);
    expect(run.of("warned").filter((event) => event.message.includes("reports no usage"))).toHaveLength(1);
    expect(run.of("boundary-decided")[0]).toMatchObject({ rule: "tool-calls", reading: { source: "estimated" } });
    expect(run.done).toEqual(ids(4));
  });
});

describe.concurrent("ask", () => {
  const config = { context_policy: "ask" as const, context_limit: 45_000, context_warn: [] };
  // Earlier phases here were small, so that nothing is asked before the phase begins.
  const small = () => phase(6);

  test("shows percent, phases and the risk; `c` goes on in the same session and does not ask again", async () => {
    const run = await rehearse({ repo: small(), charsPerTask: 9_000, config, learned: SMALL, onEvent: answering("c") });
    expect(run.status).toBe("completed");
    const asked = run.of("question-asked");
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ kind: "context", phase: "1", fallback: "stop" });
    expect(asked[0]?.text).toMatch(
      /1\d\d % of the context limit .* completed: 0 of 1, remaining: 1\. Going on may exceed the limit/,
    );
    expect(asked[0]?.choices.map((choice) => choice.key)).toEqual(["c", "s", "f", "r"]);
    expect(run.of("session-started")).toHaveLength(1);
    expect(run.done).toEqual(ids(6));
  });

  test("every session that crosses asks, whatever was said of an earlier one; `rest` settles it for the run", async () => {
    const repo = () =>
      scratchRepo(
        planFiles([
          { id: "1", tasks: 6 },
          { id: "2", tasks: 6, dependsOn: ["1"] },
        ]),
      );
    const options = { charsPerTask: 9_000, config, learned: SMALL };
    const each = await rehearse({ ...options, repo: repo(), onEvent: answering("continue") });
    expect(each.status).toBe("completed");
    expect(each.of("question-asked").map((asked) => asked.phase)).toEqual(["1", "2"]);
    const once = await rehearse({ ...options, repo: repo(), onEvent: answering("rest") });
    expect(once.status).toBe("completed");
    expect(once.of("question-asked").map((asked) => asked.phase)).toEqual(["1"]);
  });

  test("`f` hands over to a fresh session, prunes aggressively and does not ask again", async () => {
    const run = await rehearse({
      repo: small(),
      charsPerTask: 9_000,
      config,
      learned: SMALL,
      onEvent: answering("force"),
    });
    expect(run.status).toBe("completed");
    expect(run.of("question-asked")).toHaveLength(1);
    expect(run.of("session-started").length).toBeGreaterThan(1);
    expect(run.held.run.state.contextAnswer).toBe("force");
    expect(run.done).toEqual(ids(6));
  });

  test("`s` saves a checkpoint and stops", async () => {
    const run = await rehearse({ repo: small(), charsPerTask: 9_000, config, learned: SMALL, onEvent: answering("s") });
    expect(run.status).toBe("stopped");
    expect(run.of("checkpoint-saved")).toHaveLength(1);
    expect(run.of("session-ended").at(-1)?.reason).toBe("stopped");
  });

  test("nobody answers: what ask_default says counts", async () => {
    const run = await rehearse({
      repo: small(),
      charsPerTask: 9_000,
      learned: SMALL,
      config: { ...config, ask_timeout_minutes: 0.02 },
    });
    expect(run.status).toBe("stopped");
    expect(run.of("question-answered")[0]).toMatchObject({ choice: "stop", by: "nobody answered in time" });
    expect(run.of("checkpoint-saved")).toHaveLength(1);
  });

  test("a phase that is expected to cross the limit is asked about before it begins", async () => {
    const run = await rehearse({ repo: phase(6), config, onEvent: answering("s") });
    expect(run.status).toBe("stopped");
    expect(run.of("question-asked")[0]).toMatchObject({ kind: "before-phase" });
    expect(run.of("question-asked")[0]?.text).toContain("is expected to need");
    expect(run.of("phase-started")).toEqual([]);
    const other = await rehearse({ repo: phase(2), config, onEvent: answering("continue") });
    expect(other.status).toBe("completed");
    expect(other.of("question-asked")).toHaveLength(1);
  });
});

const SMALL = {
  firstPrompts: [20_000],
  samples: [{ tasks: 10, calls: 10, growth: 1_000, output: 100, model: "claude-sonnet-4-5", window: 200_000 }],
};

describe.concurrent("a phase without checkboxes", () => {
  /** Works in steps, each large; says so or not. */
  const steps =
    (count: number, reports: boolean): NonNullable<RehearsalOptions["behave"]> =>
    (request, worker) => {
      const text = JSON.stringify(request.messages);
      if (!(request.tools ?? []).some(({ name }) => name === "Bash")) return worker(request);
      if (text.includes("<!-- segno: checkpoint -->") && !text.includes('"mcp__segno__checkpoint"'))
        return worker(request);
      const done = existing(request);
      if (done >= count)
        return message(
          call("mcp__segno__phase_result", {
            status: "completed",
            summary: "All of it.",
            tasks_completed: [],
            tasks_remaining: [],
            files_modified: [],
            decisions: [],
          }),
        );
      const n = done + 1;
      const noise = `i=0; while [ $i -lt 110 ]; do i=$((i+1)); echo "step ${n} line $i: compiled module, checked types, resolved 12 imports"; done; mkdir -p out; echo ${n} > out/step-${n}.txt`;
      return message(
        ...(reports && done > 0 ? [call("mcp__segno__progress", { message: `Step ${done} is finished` })] : []),
        call("Bash", { command: noise, description: `step ${n}` }),
      );
    };
  const existing = ({ messages }: ModelRequest): number => {
    const text = JSON.stringify(messages);
    const seen = [...text.matchAll(/out\/step-(\d+)\.txt/g)].map(([, n]) => Number(n));
    return Math.max(0, ...seen);
  };
  const taskless = () => {
    const files = planFiles([{ id: "1", tasks: [], gates: ["test $(ls out | wc -l) -ge 12"] }]);
    return scratchRepo(files);
  };

  test.each([
    ["reports what it does", true],
    ["says nothing, and git shows what it does", false],
  ])("that %s is handed over as often as it needs, and ends", async (_, reports) => {
    const run = await rehearse({
      repo: taskless(),
      behave: steps(12, reports),
      config: { context_limit: 36_000, context_soft: 100, stuck_limit: 0 },
    });
    expect(run.status, JSON.stringify(run.of("phase-failed"))).toBe("completed");
    expect(run.of("session-ended").filter(({ reason }) => reason === "handed-over").length).toBeGreaterThan(3);
  });
});
