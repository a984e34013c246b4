/** Budgets hold, and what an agent only says is found out. */
import { describe, expect, test } from "vitest";
import { call, message } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const TASKS = 4;
const ids = Array.from({ length: TASKS }, (_, n) => `1/1.${n + 1}`);
const isWork = (request: ModelRequest): boolean => (request.tools ?? []).length > 0;

const fast = { api_backoff_seconds: 0.2, stuck_backoff_seconds: 0 };

async function night(more: Partial<RehearsalOptions> & { gates?: never; gate?: string }) {
  const { gate = "true", ...options } = more;
  const repo = scratchRepo(planFiles([{ id: "1", tasks: TASKS, gates: [gate] }]));
  const run = await rehearse({ repo, ...options, config: { ...fast, ...options.config } });
  return { run, repo };
}

describe.concurrent("budgets", () => {
  test("max_tokens: a warning at 80 %, a checkpoint and a stop at 100 %", async () => {
    const { run } = await night({ config: { max_tokens: 80_000 } });
    expect(run.status).toBe("stopped");
    expect(run.of("warned").some((event) => event.message.includes("More than 80 %"))).toBe(true);
    expect(run.of("stop-requested")[0]?.by).toMatch(/the run's budget \(max_tokens: \d+ of 80000 tokens\)/);
    expect(run.of("checkpoint-saved")).toHaveLength(1);
  });

  test("phase_timeout_minutes ends a phase that takes too long, at a boundary, with what it did", async () => {
    const { run, repo } = await night({
      config: { phase_timeout_minutes: 0.05 },
      behave: async (request, worker) => {
        if (isWork(request)) await new Promise((resolve) => setTimeout(resolve, 2_000));
        return worker(request);
      },
    });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "timeout", recommendation: "split" });
    expect(git(repo, "show", "--format=", "--name-only", run.of("phase-set-aside")[0]?.ref ?? "")).toContain("out/");
  });
});

describe.concurrent("lies", () => {
  const result = (status = "completed") =>
    call("mcp__segno__phase_result", {
      status,
      summary: "All done, trust me.",
      tasks_completed: ids.map((id) => id.slice(2)),
      tasks_remaining: [],
      files_modified: [],
      decisions: [],
    });

  test("done, it says, and nothing is there: the gate fails, a repair makes it good", async () => {
    let lied = false;
    const { run } = await night({
      gate: "test -f out/1-1.txt",
      behave: (request, worker) => {
        if (!isWork(request) || lied) return worker(request);
        lied = true;
        return message(result());
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("gate-finished").map((event) => event.passed)).toEqual([false, true]);
    expect(run.of("session-started").map((event) => event.purpose)).toEqual(["work", "remediate"]);
  });

  test("done, it says, for ever: fails after the repairs it may have", async () => {
    const { run } = await night({
      gate: "test -f out/1-1.txt",
      config: { max_remediations: 2 },
      behave: (request, worker) => (isWork(request) ? message(result()) : worker(request)),
    });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "gate_failed" });
    expect(run.of("session-started")).toHaveLength(3);
  });

  const early = (more: Record<string, unknown> = {}) =>
    message(
      call("mcp__segno__phase_result", {
        status: "completed",
        summary: "s",
        tasks_completed: ["1.1"],
        tasks_remaining: [],
        files_modified: [],
        decisions: [],
        ...more,
      }),
    );

  test("a result that leaves tasks out is asked about in the same session, and put right there", async () => {
    let asked = 0;
    const { run } = await night({
      behave: (request, worker) => (isWork(request) && asked++ === 0 ? early() : worker(request)),
    });
    expect(run.status).toBe("completed");
    expect(run.of("session-started")).toHaveLength(1);
    const [, second] = run.exchanges;
    const answer = JSON.stringify(second?.request.messages);
    expect(answer).toContain("Neither reported as finished nor named as remaining");
    expect(answer).toContain("- 1.2 Create");
    expect(answer).not.toContain("- 1.1 Create `out/1-1.txt`\\n- 1.2");
    expect(run.of("result-reported")).toHaveLength(1);
  });

  test("so is one that is complete and names tasks as remaining; tasks may be named by their titles", async () => {
    const moves = [
      early({ tasks_completed: ["1.1", "Task 1.2"], tasks_remaining: ["out/1-3.txt", "1.4: Create `out/1-4.txt`"] }),
      early({ tasks_completed: ["1.1", "1.2", "Create `out/1-3.txt`", "out/1-4.txt"] }),
    ];
    const { run } = await night({
      behave: (request, worker) => (isWork(request) ? moves.shift() : undefined) ?? worker(request),
    });
    expect(run.status).toBe("completed");
    expect(run.of("session-started")).toHaveLength(1);
    expect(JSON.stringify(run.exchanges[1]?.request.messages)).toContain("these are named as remaining:\\n- 1.3");
    expect(run.of("result-reported")).toMatchObject([{ result: { tasks_completed: ["1.1", "1.2", "1.3", "1.4"] } }]);
  });

  test("a phase called completed with tasks that were never reported, and insisted on, is not done", async () => {
    let calls = 0;
    const { run } = await night({
      behave: (request, worker) => (isWork(request) && calls++ < 2 ? early() : worker(request)),
    });
    expect(run.of("phase-inspected")[0]?.unreported).toEqual(["1.2", "1.3", "1.4"]);
    const repair = run.of("session-started")[1];
    expect(repair?.purpose).toBe("remediate");
    expect(await run.held.run.getBlob(repair?.prompt ?? "sha256:")).toContain("not reported: 1.2, 1.3, 1.4");
  });

  test("completed without any change is reported as suspicious, and fails under suspicious: fail", async () => {
    const behave: RehearsalOptions["behave"] = (request, worker) =>
      isWork(request) ? message(result()) : worker(request);
    const { run } = await night({ behave });
    expect(run.status).toBe("completed");
    expect(run.of("phase-inspected")[0]?.suspicions.map(({ kind }) => kind)).toEqual(["no-change"]);
    const strict = await night({ behave, config: { suspicious: "fail" } });
    expect(strict.run.status).toBe("failed");
    expect(strict.run.of("phase-failed")[0]?.message).toContain("git shows no change");
  });
});
