import { describe, expect, test } from "vitest";
import { checkpointCost, handoverCost, startCost, weighHandover } from "../../src/context/economy.js";
import {
  type BoundaryView,
  type ContextSettings,
  decideBoundary,
  handoverPoint,
  handoversOn,
  newWarnings,
  thresholdTokens,
} from "../../src/context/policy.js";
import { listPrice } from "../../src/context/prices.js";
import type { Reading } from "../../src/context/reading.js";

const SETTINGS: ContextSettings = {
  context_policy: "restart",
  context_soft: 65,
  context_threshold: 80,
  context_max_tokens: "off",
  max_restarts: 3,
  tool_call_threshold: 100,
};
const WINDOW = 100_000;
const reading = (tokens: number, source: Reading["source"] = "exact"): Reading => ({
  tokens,
  window: WINDOW,
  percent: tokens / 1_000,
  source,
  margin: source === "exact" ? 0 : 500,
});
const view = (tokens: number, more: Partial<BoundaryView> = {}): BoundaryView => ({
  reading: reading(tokens),
  limits: { window: WINDOW, whole: 1_000_000, compactAt: undefined, reserve: 0 },
  firstPrompt: 20_000,
  growth: 0,
  natural: undefined,
  workLeft: true,
  gotOn: true,
  toolCalls: 0,
  economy: { price: undefined, calls: 0, carried: 0, callsLeft: 0, handover: 20_000, reread: 0 },
  continued: false,
  ...more,
});
const decide = (tokens: number, settings: Partial<ContextSettings> = {}, more: Partial<BoundaryView> = {}) =>
  decideBoundary({ ...SETTINGS, ...settings }, view(tokens, more));

describe("the hard threshold", () => {
  // The effective threshold where the agent compacts nowhere: what the user set, at or above.
  test.each([
    [0, 0, true],
    [50, 49.9, true],
    [50, 50, false],
    [89, 90, false],
    [90, 89, true],
    [90, 90, false],
    [90, 91, false],
    [91, 90, true],
    [100, 100, true],
  ])("at a threshold of %s %%, %s %% of the window goes on: %s", (threshold, percent, goes) => {
    const decision = decide(percent * 1_000, { context_threshold: threshold }, { firstPrompt: undefined });
    // A threshold of 0 is no threshold that the configuration accepts; at 100 handovers are off.
    expect(decision.go).toBe(threshold === 0 ? false : goes);
  });

  test("is never later than the agent's own compaction, less room for a checkpoint and one large result", () => {
    const at = (window: number, compactAt: number | undefined, reserve = 0) =>
      thresholdTokens(SETTINGS, { window, whole: 200_000, compactAt, reserve });
    expect(at(200_000, 167_000)).toBe(154_300);
    expect(at(200_000, undefined)).toBe(160_000);
    expect(at(40_000, 167_000)).toBe(32_000);
    // A session whose results are larger than usual reserves for those.
    expect(at(200_000, 167_000, 20_000)).toBe(143_000);
    expect(at(200_000, 167_000, 150_000)).toBe(83_500);
  });

  test("where the agent does not compact, it may come as late as the window leaves room for a checkpoint", () => {
    const at = (context_threshold: number, window = 200_000) =>
      handoverPoint({ ...SETTINGS, context_threshold }, { window, whole: 200_000, compactAt: undefined, reserve: 0 });
    expect(at(90)).toEqual({ rule: "threshold", tokens: 180_000 });
    expect(at(95)).toEqual({ rule: "agent", tokens: 187_300 });
    // What `context_limit` takes away is still there for the checkpoint.
    expect(at(95, 100_000)).toEqual({ rule: "threshold", tokens: 95_000 });
  });

  test("a cap in tokens counts where it comes first, whatever the window", () => {
    const at = (window: number, context_max_tokens: number | "off") =>
      handoverPoint({ ...SETTINGS, context_max_tokens }, { window, whole: window, compactAt: undefined, reserve: 0 });
    expect(at(1_000_000, 200_000)).toEqual({ rule: "cap", tokens: 200_000 });
    expect(at(200_000, 200_000)).toEqual({ rule: "threshold", tokens: 160_000 });
    expect(at(1_000_000, "off")).toEqual({ rule: "threshold", tokens: 800_000 });
    // At the next tool boundary, natural or not.
    expect(decide(50_000, { context_max_tokens: 50_000, context_soft: "off" })).toMatchObject({
      act: "hand-over",
      rule: "cap",
      threshold: 50_000,
      reason: "50000 tokens are at or above the cap (context_max_tokens) of 50000",
    });
    expect(decide(49_999, { context_max_tokens: 50_000 })).toEqual({ go: true });
    // One that begins near it is not handed over before it got on.
    expect(decide(55_000, { context_max_tokens: 50_000, context_soft: "off" }, { firstPrompt: 48_000 })).toEqual({
      go: true,
    });
  });

  test("a first prompt above it is said to be that, and fails instead of looping", () => {
    expect(decide(85_000, {}, { firstPrompt: 81_000 })).toMatchObject({
      go: false,
      act: "fail",
      rule: "window-too-small",
    });
  });

  test("says which rule, at what threshold and why, with the reading's margin", () => {
    expect(decide(80_000, {}, { reading: reading(80_000, "anchored") })).toEqual({
      go: false,
      act: "hand-over",
      rule: "threshold",
      threshold: 80_000,
      reason: "80000 tokens are at or above the threshold of 80000 (± 500, anchored)",
    });
  });

  test("an unknown reading, just after a compaction, decides nothing", () => {
    expect(decide(99_000, {}, { reading: reading(99_000, "unknown") })).toEqual({ go: true });
  });
});

describe("what switches handovers off", () => {
  test.each([{ context_threshold: 100 }, { max_restarts: 0 }, { context_policy: "observe" as const }])("%j", (off) => {
    expect(handoversOn({ ...SETTINGS, ...off })).toBe(false);
    expect(decide(99_900, off, { natural: "task" })).toEqual({ go: true });
  });
});

describe("the policies at the threshold", () => {
  test.each([
    ["restart", "hand-over"],
    ["ask", "ask"],
    ["stop", "stop"],
  ] as const)("%s: %s", (context_policy, act) => {
    expect(decide(80_000, { context_policy })).toMatchObject({ act, rule: "threshold" });
    expect(decide(79_999, { context_policy })).toEqual({ go: true });
  });

  test("after `continue`, ask does not ask again and hands over at the compaction point", () => {
    const limits = { window: WINDOW, whole: WINDOW, compactAt: 95_000, reserve: 0 };
    const continued = (tokens: number) => decide(tokens, { context_policy: "ask" }, { limits, continued: true });
    expect(continued(82_000)).toEqual({ go: true });
    expect(continued(95_000 - 4_000 - 8_700)).toMatchObject({ act: "hand-over" });
  });

  test("the soft threshold is for restart alone", () => {
    expect(decide(70_000, {}, { natural: "task" })).toMatchObject({ act: "hand-over", rule: "soft" });
    expect(decide(70_000, { context_policy: "ask" }, { natural: "task" })).toEqual({ go: true });
    expect(decide(70_000, { context_policy: "stop" }, { natural: "task" })).toEqual({ go: true });
  });
});

describe("the soft threshold", () => {
  test.each(["task", "commit", "gate"] as const)("counts at a natural boundary: %s", (natural) => {
    expect(decide(65_000, {}, { natural })).toMatchObject({ rule: "soft", threshold: 65_000 });
    expect(decide(64_999, {}, { natural })).toEqual({ go: true });
  });

  test("does not count elsewhere, nor where a session begins above it or no task is left", () => {
    expect(decide(70_000)).toEqual({ go: true });
    expect(decide(70_000, {}, { natural: "task", firstPrompt: 66_000 })).toEqual({ go: true });
    expect(decide(70_000, {}, { natural: "task", workLeft: false })).toEqual({ go: true });
  });

  test("can be switched off", () => {
    expect(decide(79_000, { context_soft: "off" }, { natural: "task" })).toEqual({ go: true });
  });
});

describe("the economic rule", () => {
  const economy = { price: undefined, calls: 20, carried: 400_000, callsLeft: 40, handover: 20_000, reread: 0 };

  test("hands over at a natural boundary when what is left to carry is worth twice a handover, and waiting gains nothing", () => {
    // 30,000 tokens × 0.1 × 40 calls = 120,000 ≥ 2 × 20,000; load 3,000 ≥ (20,000 + 40,000) / 20 = 3,000.
    const auto = { context_soft: "auto" as const };
    const decided = decide(50_000, auto, { natural: "task", economy });
    expect(decided).toMatchObject({ rule: "economy", act: "hand-over" });
    expect(decided.go ? "" : decided.reason).toContain(
      "rereading 30000 tokens in 40 calls that are left would cost 120000 tokens, at least 2 × 20000 tokens",
    );
    expect(decide(50_000, auto, { economy })).toEqual({ go: true });
    expect(decide(49_000, auto, { natural: "task", economy })).toEqual({ go: true });
    expect(decide(50_000, auto, { natural: "task", economy: { ...economy, callsLeft: 13 } })).toEqual({ go: true });
  });

  test("counts in dollars of the model in use: dear cache reads hand over earlier, free ones never", () => {
    const auto = { context_soft: "auto" as const };
    // 30,000 tokens at $0.30 a million in 40 calls cost $0.36, a handover $0.06.
    const priced = { ...economy, price: listPrice(3, 15), handover: 0.06 };
    const decided = decide(50_000, auto, { natural: "task", economy: priced });
    expect(decided.go ? "" : decided.reason).toContain("would cost $0.36, at least 2 × $0.0600");
    const free = { ...priced, price: { ...listPrice(3, 15), cacheRead: 0 } };
    expect(decide(50_000, auto, { natural: "task", economy: free })).toEqual({ go: true });
    const dear = { ...priced, callsLeft: 12, price: { ...listPrice(3, 15), cacheRead: 3 } };
    expect(decide(25_000, auto, { natural: "task", economy: { ...dear, carried: 0 } })).toMatchObject({ go: false });
  });

  test("what is read again after it is carried again, too: then it pays later", () => {
    const auto = { context_soft: "auto" as const };
    expect(decide(52_000, auto, { natural: "task", economy })).toMatchObject({ rule: "economy" });
    const rereads = { ...economy, carried: 500_000, reread: 20_000 };
    expect(decide(52_000, auto, { natural: "task", economy: rereads })).toEqual({ go: true });
    expect(decide(70_000, auto, { natural: "task", economy: rereads })).toMatchObject({
      rule: "economy",
    });
  });

  test("never more often than a session finishes something", () => {
    const auto = { context_soft: "auto" as const };
    expect(decide(50_000, auto, { natural: "commit", economy, gotOn: false })).toEqual({ go: true });
  });

  test("with nothing left to do it never pays", () => {
    expect(weighHandover(90_000, 20_000, { ...economy, callsLeft: 0 }).worth).toBe(false);
  });

  test("a handover costs what this run's cost, else what one may expect", () => {
    const usage = { input: 10, cacheRead: 100, cacheWrite: 80, output: 2 };
    expect(startCost(usage)).toBeCloseTo(10 + 10 + 100 - 19);
    expect(checkpointCost(usage)).toBe(10 + 10 + 10);
    expect(checkpointCost(usage, listPrice(3, 15)) * 1e6).toBeCloseTo(30 + 30 + 30);
    const usual = { firstPrompt: 22_000, promptTokens: 2_000 };
    const none = { price: undefined, checkpoints: [], starts: [], rereading: [] };
    // 0.1 × 50,000 + 5 × 800, 1.15 × 3,000, 1.25 × 2,000.
    expect(handoverCost(50_000, { ...none, ...usual })).toBeCloseTo(9_000 + 3_450 + 2_500);
    const fresh = (input: number) => ({ input, cacheRead: 0, cacheWrite: 0, output: 0 });
    const checkpoints = [fresh(6_000), fresh(8_000)];
    const measured = { price: undefined, checkpoints, starts: [fresh(30_000), fresh(10_000)], rereading: [0, 800] };
    expect(handoverCost(50_000, { ...measured, ...usual })).toBe(7_000 + 9_000 + 500);
  });
});

describe("seen one call ahead", () => {
  const limits = { window: WINDOW, whole: WINDOW, compactAt: 84_000, reserve: 0 };

  test("a jump like a recent one that would cross the compaction point is handed over before it", () => {
    // The threshold is 71,300; 60,000 is below it, but another 20,000 would reach 84,000 less the checkpoint's room.
    expect(decide(60_000, {}, { limits, growth: 20_000 })).toMatchObject({ rule: "forecast", act: "hand-over" });
    expect(decide(59_999, {}, { limits, growth: 20_000 })).toEqual({ go: true });
  });
});

describe("tool_call_threshold", () => {
  test("counts only while the agent reports nothing", () => {
    expect(
      decide(40_000, {}, { reading: reading(40_000, "estimated"), firstPrompt: undefined, toolCalls: 100 }),
    ).toMatchObject({
      rule: "tool-calls",
    });
    expect(
      decide(40_000, {}, { reading: reading(40_000, "estimated"), firstPrompt: undefined, toolCalls: 99 }),
    ).toEqual({ go: true });
    expect(decide(40_000, {}, { toolCalls: 5_000 })).toEqual({ go: true });
  });
});

describe("warnings", () => {
  test("once each, at or above their level", () => {
    expect(newWarnings([70, 90], new Set(), reading(69_999))).toEqual([]);
    expect(newWarnings([70, 90], new Set(), reading(70_000))).toEqual([70]);
    expect(newWarnings([70, 90], new Set([70]), reading(89_000))).toEqual([]);
    expect(newWarnings([70, 90], new Set(), reading(95_000))).toEqual([70, 90]);
  });
});
