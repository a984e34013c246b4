import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { rehearseWithClaude as rehearse } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";
import { thorough } from "../support/thorough.js";

const phase = (tasks: number) => scratchRepo(planFiles([{ id: "1", tasks }]));
const ids = (n: number) => Array.from({ length: n }, (_, index) => `1/1.${index + 1}`);

describe.concurrent("compaction, with the real Claude Code", () => {
  test("observe: warns once at 70 and 90 %, never interferes, and the agent really compacts, which is said", async () => {
    const run = await rehearse({
      repo: phase(24),
      charsPerTask: 29_000,
      config: { context_policy: "observe" },
    });
    expect(run.status).toBe("completed");
    expect(run.of("compacted").length).toBe(1);
    expect(run.of("compaction-blocked")).toEqual([]);
    expect(run.of("boundary-decided")).toEqual([]);
    expect(run.of("context-warned").map((event) => event.level)).toEqual([70, 90]);
    expect(run.of("session-started")).toHaveLength(1);
    expect(run.done).toEqual(ids(24));
  });

  thorough("a threshold of 90 % is 90 %: the agent does not compact before it", async () => {
    const run = await rehearse({
      repo: phase(28),
      charsPerTask: 20_000,
      config: { context_threshold: 90, context_soft: "off", context_max_tokens: "off" },
    });
    expect(run.status).toBe("completed");
    const [decided] = run.of("boundary-decided");
    expect(decided).toMatchObject({ rule: "threshold", threshold: 180_000 });
    expect(decided?.reading.percent).toBeGreaterThanOrEqual(90);
    expect(decided?.reading.percent).toBeLessThan(95);
    expect(run.of("compacted")).toEqual([]);
    expect(run.done).toEqual(ids(28));
  });

  test("the default policy never lets the agent compact", async () => {
    const run = await rehearse({ repo: phase(12), charsPerTask: 20_000, config: { context_limit: 60_000 } });
    expect(run.status).toBe("completed");
    expect(run.of("compacted")).toEqual([]);
    expect(run.of("session-ended").filter((event) => event.reason === "handed-over").length).toBeGreaterThan(0);
    expect(run.done).toEqual(ids(12));
  });
});
