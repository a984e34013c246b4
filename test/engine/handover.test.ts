import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { rehearseWithClaude as rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { thorough } from "../support/thorough.js";

describe.concurrent("a run with handovers", () => {
  test("does every task once, compacts never, commits per handover and phase, marks the plan, leaves the tree clean", async () => {
    const gate = 'test "$(ls out | wc -l)" -ge 2';
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 2, gates: [gate] },
        { id: "2", tasks: 8, dependsOn: ["1"], gates: [gate, 'test "$(ls out | wc -l)" -eq 10'] },
      ]),
    );
    const run = await rehearse({ repo, charsPerTask: 12_000, config: { context_limit: 40_000 } });

    expect(run.status).toBe("completed");
    expect(run.done).toEqual(["1/1.1", "1/1.2", ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `2/2.${n}`)]);
    const handovers = run.of("session-ended").filter((event) => event.reason === "handed-over");
    expect(handovers.filter((event) => event.phase === "2").length).toBeGreaterThanOrEqual(2);
    expect(run.of("compacted")).toEqual([]);
    expect(run.of("compaction-blocked")).toEqual([]);
    expect(run.of("commit-made").filter((event) => event.kind === "handover")).toHaveLength(handovers.length);
    expect(run.of("commit-made").filter((event) => event.kind === "phase")).toHaveLength(2);
    expect(run.of("gate-finished").map((event) => [event.phase, event.gate, event.passed])).toEqual([
      ["1", "g1", true],
      ["2", "g1", true],
      ["2", "g2", true],
    ]);
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(readFileSync(join(repo, "PLAN.md"), "utf8").match(/\| Completed \|/g)).toHaveLength(2);
    const phase = readFileSync(join(repo, "plan/phase-2.md"), "utf8");
    expect(phase).toContain("**Status:** Completed");
    expect(phase.match(/- \[x\] 2\.\d/g)).toHaveLength(8);
    expect(phase).toContain("- [ ] not a task");
    expect(git(repo, "show", "--stat", "--format=", "HEAD")).toContain("plan/phase-2.md");
  });

  thorough("each handover begins at or above the threshold and never above the window", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 6 }]));
    const run = await rehearse({
      repo,
      charsPerTask: 12_000,
      config: { context_limit: 40_000, context_threshold: 70 },
    });
    expect(run.status).toBe("completed");
    const stops = run.of("boundary-decided");
    expect(stops.length).toBeGreaterThan(0);
    for (const { reading, threshold, why } of stops) {
      expect(why).toBe("context");
      expect(threshold).toBe(28_000);
      expect(reading.tokens).toBeGreaterThanOrEqual(28_000);
      expect(reading.tokens).toBeLessThan(40_000);
    }
  });

  test("the reading at a boundary is what the next call reports", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 5 }]));
    const run = await rehearse({ repo, charsPerTask: 9_000 });
    const calls = run.of("call-made");
    const ready = run.of("window-known")[0];
    expect(ready?.window).toBe(200_000);
    // It does not compact: Segno hands over.
    expect(ready?.compactAt).toBeUndefined();
    expect(ready?.hands).toEqual({ tokens: 160_000, rule: "threshold", soft: "auto" });
    const prompts = calls.map(({ usage }) => usage.input + usage.cacheRead + usage.cacheWrite);
    // The stand-in's own count is the truth: each call's prompt is what the server charged.
    expect(prompts).toEqual(
      run.exchanges
        .slice(0, prompts.length)
        .map(({ usage }) => usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens),
    );
    expect(calls.every(({ usage }) => usage.output > 1)).toBe(true);
  });

  test("the checkpoint turn is asked in the same process: same tools and system, the conversation before it as its prefix", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 4 }]));
    const run = await rehearse({ repo, charsPerTask: 15_000, config: { context_limit: 40_000 } });
    const asked = run.exchanges.findIndex(({ request }) =>
      JSON.stringify(request.messages.slice(-2)).includes("<!-- segno: checkpoint -->"),
    );
    expect(asked).toBeGreaterThan(0);
    const [before, checkpoint] = [run.exchanges[asked - 1], run.exchanges[asked]];
    const plain = (value: unknown) =>
      JSON.parse(JSON.stringify(value, (key, inner) => (key === "cache_control" ? undefined : inner)));
    expect(plain(checkpoint?.request.tools)).toEqual(plain(before?.request.tools));
    expect(plain(checkpoint?.request.system)).toEqual(plain(before?.request.system));
    const shared = before?.request.messages.length ?? 0;
    expect(plain(checkpoint?.request.messages.slice(0, shared))).toEqual(plain(before?.request.messages));
    expect(checkpoint?.usage.cache_read_input_tokens).toBeGreaterThan(15_000);
  });

  test("the journal on disk holds every event and replays", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({ repo });
    const read = await run.held.store.read(run.held.run.state.run);
    expect(read.ok && read.events).toEqual(run.events);
    expect(existsSync(join(repo, ".segno/.gitignore"))).toBe(true);
  });
});
