import { describe, expect, test } from "vitest";
import { kindsIn } from "../../src/rehearsal/conversation.js";
import { call, message, say } from "../../src/rehearsal/reply.js";
import { userTexts } from "../../src/rehearsal/request.js";
import { firstly } from "../support/behaviours.js";
import { planFiles } from "../support/plans.js";
import { rehearseWithClaude as rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const BIG =
  'i=0; while [ $i -lt 330 ]; do i=$((i+1)); echo "line $i of a long output that fills the window quickly, word after word"; done';

describe.concurrent("what is in flight at the threshold", () => {
  test("parallel tool calls and a sub-agent finish before the handover, and its commit holds their work", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    let first = true;
    let subCalls = 0;
    const run = await rehearse({
      repo,
      config: { context_limit: 30_000 },
      behave: (request, worker) => {
        const sub = userTexts(request).some((text) => text.startsWith("SUB-AGENT:"));
        if (sub) {
          subCalls++;
          return subCalls === 1
            ? message(call("Bash", { command: "sleep 1.5; mkdir -p out; echo sub > out/sub.txt", description: "slow" }))
            : message(say("the sub-agent is done"));
        }
        if (!first || !(request.tools ?? []).some((tool) => tool.name === "Agent")) return worker(request);
        first = false;
        return message(
          call("Agent", {
            description: "side work",
            prompt: "SUB-AGENT: write the file",
            subagent_type: "general-purpose",
          }),
          call("Bash", { command: BIG, description: "fills the window" }),
          call("Bash", { command: "mkdir -p out; sleep 1; echo slow > out/slow.txt", description: "slow" }),
        );
      },
    });
    expect(run.status).toBe("completed");
    expect(run.done).toEqual(["1/1.1", "1/1.2"]);
    expect(subCalls).toBe(2);
    const stop = run.of("boundary-decided")[0];
    const finished = run.of("tool-finished").filter((event) => event.seq < (stop?.seq ?? 0));
    expect(finished.map((event) => [event.tool, event.ok, event.subagent])).toEqual(
      expect.arrayContaining([
        ["Agent", true, false],
        ["Bash", true, true],
        ["Bash", true, false],
      ]),
    );
    const handover = run.of("commit-made")[0];
    expect(handover?.kind).toBe("handover");
    expect(handover?.seq).toBeGreaterThan(stop?.seq ?? Number.POSITIVE_INFINITY);
    const files = git(repo, "show", "--name-only", "--format=", handover?.sha ?? "");
    expect(files.split("\n").sort()).toEqual(["out/slow.txt", "out/sub.txt"]);
    // A sub-agent's calls cost tokens but never move the meter.
    const subagent = run.of("call-made").filter((event) => event.subagent);
    expect(subagent.length).toBe(2);
  });

  test("no process of a session outlives it, not even a server it started with &", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({
      repo,
      behave: firstly(
        call("Bash", {
          command:
            "nohup sh -c 'while true; do sleep 0.2; done' > /dev/null 2>&1 & (setsid sleep 300 > /dev/null 2>&1 &); echo started",
          description: "server",
        }),
      ),
    });
    expect(run.status).toBe("completed");
    expect(run.of("session-ended")[0]?.swept).toBeGreaterThanOrEqual(2);
    // `rehearse` itself checks that none is left when the run is over.
  });

  test("a batch that jumps far over the threshold is handed over, and the agent does not compact", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const flood = Array.from({ length: 17 }, (_, n) =>
      call("Bash", {
        command: `i=0; while [ $i -lt 360 ]; do i=$((i+1)); echo "part ${n} line $i of a long output, word after word after word after word"; done`,
        description: `part ${n}`,
      }),
    );
    const run = await rehearse({ repo, behave: firstly(...flood) });
    expect(run.status).toBe("completed");
    const [stop] = run.of("boundary-decided");
    expect(stop?.reading.tokens).toBeGreaterThan(167_000);
    expect(stop?.reading.tokens).toBeLessThan(200_000);
    expect(stop?.threshold).toBe(160_000);
    expect(run.of("compacted")).toEqual([]);
    expect(run.of("checkpoint-saved")).toHaveLength(1);
    expect(run.done).toEqual(["1/1.1", "1/1.2"]);
  });

  test("a window that the first prompt already fills fails with that reason and does not loop", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const run = await rehearse({ repo, config: { context_limit: 15_000 } });
    expect(run.status).toBe("failed");
    expect(run.of("session-started")).toHaveLength(1);
    expect(run.of("phase-failed")[0]).toMatchObject({
      category: "context_exhaustion",
      message: expect.stringContaining("first prompt"),
    });
  });

  test("handovers without a finished task end after max_restarts", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const run = await rehearse({
      repo,
      config: { context_limit: 30_000, max_restarts: 2, split: "off" },
      behave: (request, worker) =>
        userTexts(request).some((text) => kindsIn(text).includes("checkpoint")) || (request.tools ?? []).length === 0
          ? worker(request)
          : message(call("Bash", { command: BIG, description: "no progress" })),
    });
    expect(run.status).toBe("failed");
    expect(run.of("session-started")).toHaveLength(3);
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "context_exhaustion", recommendation: "split" });
  });
});
