/** Whatever the night brings: each fault of the model or the agent ends as it should, and no work is lost. */
import { describe, expect, test } from "vitest";
import { call, message, type Reply, say } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearseWithClaude as rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { expectStopsWhileWaiting } from "../support/stop-while-waiting.js";
import { thorough } from "../support/thorough.js";

const TASKS = 4;
const ids = Array.from({ length: TASKS }, (_, n) => `1/1.${n + 1}`);
const isWork = (request: ModelRequest): boolean => (request.tools ?? []).length > 0;

/** Answers the k-th call of the agent with a fault, the given number of times. */
function faultAt(
  k: number,
  fault: Reply,
  times = 1,
): (request: ModelRequest, worker: Behaviour) => ReturnType<Behaviour> {
  let [call, left] = [0, times];
  return (request, worker) => {
    if (!isWork(request)) return worker(request);
    call++;
    if (call < k || left <= 0) return worker(request);
    left--;
    return fault;
  };
}

const OVERLOADED: Reply = {
  type: "error",
  status: 529,
  error: "overloaded_error",
  message: "Overloaded",
  headers: { "x-should-retry": "false" },
};
const fast = { api_backoff_seconds: 0.2, stuck_backoff_seconds: 0 };

async function night(more: Partial<RehearsalOptions> & { gates?: never; gate?: string }) {
  const { gate = "true", ...options } = more;
  const repo = scratchRepo(planFiles([{ id: "1", tasks: TASKS, gates: [gate] }]));
  const run = await rehearse({ repo, ...options, config: { ...fast, ...options.config } });
  return { run, repo };
}

function expectAllDone({ run, repo }: Awaited<ReturnType<typeof night>>): void {
  expect(run.status).toBe("completed");
  expect([...new Set(run.done)]).toEqual(ids);
  for (let n = 1; n <= TASKS; n++) expect(git(repo, "show", `HEAD:out/1-${n}.txt`)).not.toBe("");
  expect(git(repo, "status", "--porcelain")).toBe("");
}

describe.concurrent("API faults, with the real Claude Code", () => {
  thorough("overloaded beyond the agent's own patience: the same conversation goes on after a back-off", async () => {
    const ended = await night({ behave: faultAt(3, OVERLOADED, 2) });
    expectAllDone(ended);
    const reasons = ended.run.of("session-ended").map((event) => event.reason);
    expect(reasons.filter((reason) => reason === "api-error").length).toBeGreaterThan(0);
    expect(ended.run.of("session-started").at(-1)?.resumed).toBe(true);
    expect(ended.run.done).toEqual(ids);
  });

  test("an API that never recovers: the phase fails after api_retries, with what it said", async () => {
    const { run } = await night({ behave: faultAt(2, OVERLOADED, 1_000), config: { api_retries: 2 } });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "agent_error", recommendation: "retry" });
    expect(run.of("phase-failed")[0]?.message).toMatch(/API failed 3 times in a row .*Overloaded|API failed 3 times/);
  });

  test("a cut stream is asked again by the agent itself, or taken up again by Segno", async () => {
    expectAllDone(await night({ behave: faultAt(3, { type: "cut", content: [say("half a")] }) }));
  });

  thorough("a 400 in mid-phase: a fresh session goes on from the ledger", async () => {
    const bad: Reply = {
      type: "error",
      status: 400,
      error: "invalid_request_error",
      message: "messages: something is wrong",
    };
    // The client repeats a 400 several times in other shapes.
    const ended = await night({ behave: faultAt(3, bad, 6) });
    expectAllDone(ended);
    expect(ended.run.of("session-ended").some((event) => event.reason === "crashed")).toBe(true);
  });

  test("a hang: ended after idle_timeout_minutes, swept, and resumed from the ledger", async () => {
    const ended = await night({ behave: faultAt(3, { type: "hang" }), config: { idle_timeout_minutes: 0.25 } });
    expectAllDone(ended);
    const timeout = ended.run.of("session-ended").find((event) => event.reason === "timeout");
    expect(timeout?.message).toContain("no sign of life for 0.25 minutes");
  });

  thorough("a model that hangs for ever: the phase fails as a time-out", async () => {
    const { run } = await night({
      behave: faultAt(1, { type: "hang" }, 1_000),
      config: { idle_timeout_minutes: 0.04, max_timeouts: 1 },
    });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "timeout" });
  });

  test("a tool that never ends: its session is ended with it, nothing is left running", async () => {
    let first = true;
    const ended = await night({
      config: { tool_timeout_minutes: 0.2, idle_timeout_minutes: 5 },
      behave: (request, worker) => {
        if (!isWork(request) || !first) return worker(request);
        first = false;
        return message(call("Bash", { command: "sleep 600", description: "never ends", timeout: 600_000 }));
      },
    });
    expectAllDone(ended);
    expect(ended.run.of("session-ended")[0]).toMatchObject({ reason: "timeout" });
    expect(ended.run.of("session-ended")[0]?.message).toContain("a tool ran longer");
  });

  test("a stop while the agent tries again by itself does not wait for it", () =>
    expectStopsWhileWaiting("claude", "refused"));

  thorough("a stop while the model is silent does not wait for it", () => expectStopsWhileWaiting("claude", "silent"));

  test("a refused model stops at once and says what to do", async () => {
    const gone: Reply = { type: "error", status: 404, error: "not_found_error", message: "model: claude-nope" };
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }]));
    const run = await rehearse({ repo, config: fast, behave: faultAt(1, gone, 1_000) });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")).toHaveLength(1);
    expect(run.of("phase-failed")[0]).toMatchObject({ phase: "1", recommendation: "halt" });
    expect(run.of("phase-failed")[0]?.message).toContain("Check the login");
    expect(run.of("phase-started").map((event) => event.phase)).toEqual(["1"]);
  });

  test("a refused login stops at once, and is not tried ten times", async () => {
    const no: Reply = { type: "error", status: 401, error: "authentication_error", message: "invalid x-api-key" };
    let calls = 0;
    const { run } = await night({
      behave: (request, worker) => {
        if (!isWork(request)) return worker(request);
        calls++;
        return no;
      },
    });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed")[0]?.message).toContain("the login is refused");
    expect(calls).toBeLessThan(6);
  });
});

describe.concurrent("usage limits, with the real Claude Code", () => {
  /** As the API answers an account whose limit is used up. */
  const limit = (seconds: number): Reply => {
    const reset = String(Math.floor(Date.now() / 1_000) + seconds);
    return {
      type: "error",
      status: 429,
      error: "rate_limit_error",
      message: "This request would exceed your account's rate limit.",
      headers: {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": reset,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "x-should-retry": "false",
      },
    };
  };
  // Limits are for accounts, not for keys: a made-up login, on loopback like everything here.
  const account = { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-made-up", ANTHROPIC_API_KEY: "" };

  test("the run waits until the reset and the same conversation goes on", async () => {
    let left = 1;
    let calls = 0;
    let asked = 0;
    const ended = await night({
      env: account,
      behave: (request, worker) => {
        if (!isWork(request) || ++calls < 3 || left <= 0) return worker(request);
        left--;
        asked = Date.now();
        return limit(6);
      },
    });
    expectAllDone(ended);
    const [reached] = ended.run.of("limit-reached");
    expect(reached?.message).toContain("limit");
    expect(ended.run.of("limit-lifted")).toHaveLength(1);
    const resumed = ended.run.of("session-started")[1];
    expect(resumed?.resumed).toBe(true);
    expect(Date.parse(resumed?.at ?? "")).toBeGreaterThanOrEqual(Date.parse(reached?.until ?? ""));
    expect(Date.parse(reached?.until ?? "")).toBeGreaterThan(asked);
    expect(ended.run.done).toEqual(ids);
  });

  thorough("on_usage_limit: stop stops, with a handoff", async () => {
    let calls = 0;
    const { run } = await night({
      env: account,
      config: { on_usage_limit: "stop" },
      behave: (request, worker) => (isWork(request) && ++calls >= 3 ? limit(600) : worker(request)),
    });
    expect(run.status).toBe("stopped");
    expect(run.of("stop-requested")[0]?.by).toContain("usage limit");
    expect(run.of("handoff-written")).toHaveLength(1);
  });
});
