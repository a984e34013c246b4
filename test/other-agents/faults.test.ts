/** Each fault of the model or the agent ends as docs/failures.md says, with the real programs. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { call, message, type Reply, say } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { CODEX, OPENCODE } from "../support/segno.js";
import { expectStopsWhileWaiting } from "../support/stop-while-waiting.js";

const TASKS = 3;
const ids = Array.from({ length: TASKS }, (_, n) => `1/1.${n + 1}`);
const isWork = (request: ModelRequest): boolean => (request.tools ?? []).length > 0;

/** Answers the agent's calls from the k-th on with a fault, the given number of times. */
function faultAt(
  k: number,
  fault: () => Reply,
  times = 1,
): (request: ModelRequest, worker: Behaviour) => ReturnType<Behaviour> {
  let [calls, left] = [0, times];
  return (request, worker) => {
    if (!isWork(request) || ++calls < k || left-- <= 0) return worker(request);
    return fault();
  };
}

const error = (status: number, type: string, text: string, headers: Record<string, string> = {}): Reply => ({
  type: "error",
  status,
  error: type,
  message: text,
  headers,
});

const soon = (): number => Math.ceil(Date.now() / 1_000) + 3;

/** How each vendor tells of a limit with its end. */
const LIMITS = {
  codex: () =>
    error(429, "usage_limit_reached", "The usage limit has been reached", {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": String(soon()),
    }),
  opencode: () => error(429, "insufficient_quota", "usage limit reached", { "retry-after": "3" }),
};

for (const [agent, program] of [
  ["codex", CODEX],
  ["opencode", OPENCODE],
] as const)
  describe.skipIf(!existsSync(program)).concurrent(`faults, with ${agent}`, () => {
    const night = async (options: Partial<RehearsalOptions>) => {
      const repo = scratchRepo(planFiles([{ id: "1", tasks: TASKS, gates: ["true"] }]));
      const config = { api_backoff_seconds: 0.2, stuck_backoff_seconds: 0, ...options.config };
      return { repo, run: await rehearse({ repo, agent, ...options, config }) };
    };
    const expectAllDone = ({ run, repo }: Awaited<ReturnType<typeof night>>): void => {
      expect(run.status, JSON.stringify(run.of("phase-failed"))).toBe("completed");
      expect([...new Set(run.done)]).toEqual(ids);
      expect(git(repo, "status", "--porcelain")).toBe("");
    };

    test("a usage limit with its end: waited out, and the run goes on", async () => {
      const ended = await night({ behave: faultAt(3, LIMITS[agent]) });
      expectAllDone(ended);
      const [limit] = ended.run.of("limit-reached");
      expect(limit?.agent).toBe("claude");
      expect(Date.parse(limit?.until ?? "")).toBeLessThan(Date.parse(limit?.at ?? "") + 10_000);
    });

    test("too many requests, and no word on how long: taken up again", async () => {
      expectAllDone(await night({ behave: faultAt(3, () => error(429, "rate_limit_exceeded", "slow down"), 2) }));
    });

    test("errors of the server: taken up again", async () => {
      expectAllDone(await night({ behave: faultAt(3, () => error(500, "server_error", "oops"), 2) }));
    });

    test("a server that never recovers: the phase fails, with what it said", async () => {
      const { run } = await night({
        behave: faultAt(2, () => error(500, "server_error", "oops"), 10_000),
        config: { api_retries: 0 },
      });
      expect(run.status).toBe("failed");
      expect(run.of("phase-failed")[0]).toMatchObject({ category: "agent_error", recommendation: "retry" });
    });

    // Codex tries again for less than a second where it is refused.
    test.skipIf(agent === "codex")("a stop while it tries again by itself does not wait for it", () =>
      expectStopsWhileWaiting(agent, "refused"),
    );

    test("a stop while the model is silent does not wait for it", () => expectStopsWhileWaiting(agent, "silent"));

    test("nobody answers at all: the agent's own patience is cut off, and the phase fails", async () => {
      const url = "http://127.0.0.1:9";
      const { run } = await night({
        config: { api_retries: 0 },
        env: { OPENAI_BASE_URL: `${url}/v1`, ANTHROPIC_BASE_URL: url },
      });
      expect(run.status).toBe("failed");
      expect(run.of("phase-failed")[0]?.category).toBe("agent_error");
    });

    test("a cut stream: asked again by the agent, or taken up again", async () => {
      expectAllDone(await night({ behave: faultAt(3, () => ({ type: "cut", content: [say("half a")] })) }));
    });

    test("a hang: ended after idle_timeout_minutes, and gone on from the ledger", async () => {
      const ended = await night({
        behave: faultAt(3, () => ({ type: "hang" })),
        config: { idle_timeout_minutes: 0.3 },
      });
      expectAllDone(ended);
      expect(ended.run.of("session-ended").map(({ reason }) => reason)).toContain("timeout");
    });

    test.each([
      [401, "authentication_error"],
      [404, "not_found_error"],
    ])("a refused login or model (%s) stops at once, and says what to do", async (status, type) => {
      const { run } = await night({ behave: faultAt(1, () => error(status, type, "no"), 10_000) });
      expect(run.status).toBe("failed");
      expect(run.of("phase-failed")[0]).toMatchObject({ category: "agent_error", recommendation: "halt" });
      expect(run.of("phase-failed")[0]?.message).toContain("Check the login");
    });

    test("a window that is exceeded: a fresh session goes on from the ledger", async () => {
      const ended = await night({
        behave: faultAt(3, () =>
          error(400, "context_length_exceeded", "prompt is too long: 99999 tokens > 60000 maximum"),
        ),
      });
      expectAllDone(ended);
      expect(ended.run.of("session-ended").map(({ reason }) => reason)).toContain("context-full");
    });

    test("an agent that is killed: another session goes on", async () => {
      let killed = false;
      let calls = 0;
      let id = "";
      const ended = await night({
        behave: async (request, worker) => {
          // By then it has finished a task.
          if (!isWork(request) || ++calls < 3 || killed) return worker(request);
          killed = true;
          for (const { pid } of await findProcesses((marker) => marker.startsWith(`${id}:`)))
            process.kill(pid, "SIGKILL");
          return { type: "hang" };
        },
        onHeld: (held) => {
          id = held.run.state.run;
        },
      });
      expectAllDone(ended);
      expect(ended.run.of("session-ended").map(({ reason }) => reason)).toContain("crashed");
    });

    test("a tool that never ends is ended with its session", async () => {
      let first = true;
      const ended = await night({
        config: { tool_timeout_minutes: 0.3, idle_timeout_minutes: 5 },
        behave: (request, worker) => {
          if (!isWork(request) || !first) return worker(request);
          first = false;
          return message(call("Bash", { command: "sleep 600", description: "never ends", timeout: 600_000 }));
        },
      });
      expectAllDone(ended);
      // Codex may go on beside a command that takes long; it is ended with the session.
      expect(agent === "codex" ? ["result", "timeout"] : ["timeout"]).toContain(
        ended.run.of("session-ended")[0]?.reason,
      );
    });
  });
