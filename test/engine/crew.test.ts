/** Several agents in one run: who was chosen works, is named, and waits alone. */
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";

const agentsIn = (run: Awaited<ReturnType<typeof rehearse>>) =>
  run.of("session-started").map(({ phase, purpose, agent }) => `${phase} ${purpose} ${agent}`);

describe.concurrent("several agents in one run", () => {
  test("each phase is done by whom it names, judged by whom the configuration names, and credited so", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 2, fields: "**Agent:** second" },
        { id: "2", tasks: 1, dependsOn: ["1"] },
      ]),
    );
    const run = await rehearse({
      repo,
      others: ["second", "judge"],
      config: { verify: "agent", agents: { verify: "judge", rules: [] } },
    });
    expect(run.status).toBe("completed");
    expect(agentsIn(run)).toEqual(["1 work second", "1 verify judge", "2 work claude", "2 verify judge"]);
    expect(run.held.run.state.sessions.get("1/a1/session/1")?.agent).toBe("second");
    expect(run.of("run-started")[0]?.agents).toEqual(["in-process", "second", "judge"]);
  });

  test("phases at once, each with an agent of its own", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 2, fields: "**Agent:** second" },
        { id: "2", tasks: 2, fields: "**Agent:** third" },
        { id: "3", tasks: 2 },
      ]),
    );
    const run = await rehearse({ repo, others: ["second", "third"], config: { parallel: 3 } });
    expect(run.status).toBe("completed");
    expect(agentsIn(run).toSorted()).toEqual(["1 work second", "2 work third", "3 work claude"]);
    expect(run.done.toSorted()).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2", "3/3.1", "3/3.2"]);
  });

  test("a usage limit of one agent holds nobody else", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", fields: "**Agent:** second" }, { id: "2" }, { id: "3" }]));
    const reset = String(Math.ceil(Date.now() / 1_000) + 3_600);
    const headers = {
      "anthropic-ratelimit-unified-status": "rejected",
      "anthropic-ratelimit-unified-reset": reset,
    };
    const run = await rehearse({
      repo,
      others: ["second"],
      config: { parallel: 2 },
      behave: (request, worker, agent) =>
        agent === "second"
          ? { type: "error", status: 429, error: "rate_limit_error", message: "limit reached", headers }
          : worker(request),
      // Nobody waits for the hour to be over.
      onEvent: (event, held) => {
        const { state } = held?.run ?? {};
        if (event.type === "phase-done" && ["2", "3"].every((id) => state?.phases.get(id)?.step === "done"))
          void held?.run.record({ type: "stop-requested", by: "test", cause: "asked" });
      },
    });
    expect(run.status).toBe("stopped");
    expect(run.of("limit-reached").map(({ agent }) => agent)).toEqual(["second"]);
    expect(
      run
        .of("phase-done")
        .map(({ phase }) => phase)
        .toSorted(),
    ).toEqual(["2", "3"]);
    expect([...run.held.run.state.away.keys()]).toEqual(["second"]);
  });
});
