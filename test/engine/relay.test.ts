/** The relay: where an agent is away, the next one goes on in the same checkout, from what was handed over. */
import { describe, expect, test } from "vitest";
import type { Reply } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { planFiles } from "../support/plans.js";
import { type Rehearsed, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const HOUR = 3_600;
const limitFor = (seconds: number): Reply => ({
  type: "error",
  status: 429,
  error: "rate_limit_error",
  message: "limit reached",
  headers: {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(Math.ceil(Date.now() / 1_000) + seconds),
    "x-should-retry": "false",
  },
});
const failing = (status: number): Reply => ({
  type: "error",
  status,
  error: "error",
  message: `told ${status}`,
  headers: { "x-should-retry": "false" },
});

/** From its k-th call on, an agent gets only this. */
function from(faults: Record<string, [number, () => Reply]>) {
  const calls = new Map<string, number>();
  return (request: ModelRequest, worker: Behaviour, agent = ""): ReturnType<Behaviour> => {
    const n = (calls.get(agent) ?? 0) + 1;
    calls.set(agent, n);
    const [k, fault] = faults[agent] ?? [Number.POSITIVE_INFINITY, () => failing(500)];
    return n >= k ? fault() : worker(request);
  };
}

const started = (run: Rehearsed): string[] => run.of("session-started").map(({ phase, agent }) => `${phase} ${agent}`);
const config = { agent: "in-process", fallback: ["second", "third"], api_backoff_seconds: 0.05 };
const TASKS = ["1/1.1", "1/1.2", "1/1.3", "1/1.4"];
const plan = () => scratchRepo(planFiles([{ id: "1", tasks: 4, gates: ["test -f out/1-4.txt"] }]));

describe.concurrent("the relay", () => {
  test("limited in mid-phase, twice: the next ones go on, no task is lost, each is credited", async () => {
    const repo = plan();
    const run = await rehearse({
      repo,
      others: ["second", "third"],
      config,
      behave: from({ "in-process": [3, () => limitFor(HOUR)], second: [3, () => limitFor(HOUR)] }),
    });
    expect(run.status).toBe("completed");
    expect(started(run)).toEqual(["1 in-process", "1 second", "1 third"]);
    expect([...new Set(run.done)]).toEqual(TASKS);
    expect(run.done.length).toBeLessThanOrEqual(TASKS.length + 2);
    // Before another goes on, what is there is committed.
    expect(run.of("commit-made").filter(({ kind }) => kind === "handover")).toHaveLength(2);
    const credits = git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By,valueonly)");
    expect(credits.trim().split("\n")).toHaveLength(1);
    expect(run.held.run.state.sessions.size).toBe(3);
  });

  test("one that is down after its retries, or refused, is left behind; who took over keeps the phase", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 4 },
        { id: "2", tasks: 2, dependsOn: ["1"] },
      ]),
    );
    const run = await rehearse({
      repo,
      others: ["second", "third"],
      config: { ...config, api_retries: 1 },
      behave: from({ "in-process": [3, () => failing(500)], second: [3, () => failing(401)] }),
    });
    expect(run.status).toBe("completed");
    expect(run.of("agent-away").map(({ agent, why }) => `${agent} ${why}`)).toEqual([
      "in-process down",
      "second refused",
    ]);
    expect([...new Set(started(run))]).toEqual(["1 in-process", "1 second", "1 third", "2 third"]);
    expect(run.of("phase-failed")).toEqual([]);
  });

  test("a short limit is waited out; back at the next phase, or at the next handover", async () => {
    const phases = planFiles([
      { id: "1", tasks: 3 },
      { id: "2", tasks: 1, dependsOn: ["1"] },
    ]);
    let limited = false;
    const once = (request: ModelRequest, worker: Behaviour, agent = ""): ReturnType<Behaviour> => {
      if (agent !== "in-process" || limited) return worker(request);
      limited = true;
      return limitFor(2);
    };
    const waited = await rehearse({ repo: scratchRepo(phases), others: ["second"], config, behave: once });
    expect(waited.status).toBe("completed");
    expect(new Set(started(waited))).toEqual(new Set(["1 in-process", "2 in-process"]));

    limited = false;
    let lifted = () => {};
    const back = new Promise<void>((resolve) => {
      lifted = resolve;
    });
    const relayed = await rehearse({
      repo: scratchRepo(phases),
      others: ["second"],
      config: { ...config, relay_after_minutes: 0 },
      behave: async (request, worker, agent) => {
        // The second one is slow: the first is back before it has finished.
        if (agent === "second") await back;
        return once(request, worker, agent);
      },
      onEvent: (event) => {
        if (event.type === "limit-lifted") lifted();
      },
    });
    expect(relayed.status).toBe("completed");
    expect(started(relayed)).toEqual(["1 in-process", "1 second", "2 in-process"]);
  });

  test("all of them limited: the run waits for whoever is back first", async () => {
    let refused = 0;
    const run = await rehearse({
      repo: plan(),
      others: ["second"],
      config: { ...config, fallback: ["second"], relay_after_minutes: 0 },
      behave: (request, worker, agent) => {
        if (refused >= 2) return worker(request);
        refused++;
        return limitFor(agent === "second" ? 2 : HOUR);
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("limit-lifted").map(({ agent }) => agent)).toEqual(["second"]);
    expect(started(run)).toEqual(["1 in-process", "1 second", "1 second"]);
  });

  test("without a fallback the phase fails as before, and a model's own refusal is no reason", async () => {
    const alone = await rehearse({
      repo: plan(),
      config: { agent: "in-process", api_backoff_seconds: 0.05 },
      behave: from({ "in-process": [2, () => failing(401)] }),
    });
    expect(alone.status).toBe("failed");
    const refuses = await rehearse({
      repo: plan(),
      others: ["second"],
      config,
      behave: (request, worker, agent) =>
        agent === "in-process" && (request.tools ?? []).length > 0
          ? { type: "message", content: [{ type: "text", text: "I will not do that." }] }
          : worker(request),
    });
    expect(refuses.status).toBe("failed");
    expect(new Set(started(refuses))).toEqual(new Set(["1 in-process"]));
  });
});
