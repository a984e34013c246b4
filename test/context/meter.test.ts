import { describe, expect, test } from "vitest";
import { type Meter, type MeterInput, meter, newMeter, readMeter } from "../../src/context/meter.js";
import { decideBoundary, handoversOn, thresholdTokens } from "../../src/context/policy.js";

const metered = (...inputs: MeterInput[]): Meter => inputs.reduce(meter, newMeter(100_000));
const started = (id: string, prompt: number, model = "claude-sonnet-4-5"): MeterInput => ({
  type: "call-started",
  id,
  model,
  prompt,
});
const finished = (id: string, output: number): MeterInput => ({ type: "call-finished", id, output });
const result = (key: string, chars: number): MeterInput => ({
  type: "appended",
  key,
  kind: "bash",
  chars,
  isResult: true,
});

describe("the meter", () => {
  test("prompt plus output, exactly, while nothing was appended", () => {
    expect(readMeter(metered(started("a", 20_000), finished("a", 500)))).toEqual({
      tokens: 20_500,
      window: 100_000,
      percent: 20.5,
      source: "exact",
      margin: 0,
    });
  });

  test("a tail is estimated with the model generation's ratio, and said to be", () => {
    const old = readMeter(metered(started("a", 20_000), finished("a", 0), result("t", 28_700)));
    expect(old).toMatchObject({ tokens: 20_000 + 10_000 + 34, source: "anchored" });
    const recent = readMeter(metered(started("a", 20_000, "claude-opus-4-8"), finished("a", 0), result("t", 21_300)));
    expect(recent.tokens).toBe(20_000 + 10_000 + 21);
  });

  test("one message id counts once, and so does one tool result", () => {
    const once = metered(started("a", 20_000), finished("a", 100), result("t", 5_000));
    const twice = metered(
      started("a", 20_000),
      finished("a", 100),
      started("a", 20_000),
      result("t", 5_000),
      result("t", 5_000),
    );
    expect(readMeter(twice)).toEqual(readMeter(once));
  });

  test("a placeholder output is estimated from what the call said", () => {
    const reading = readMeter(
      metered(started("a", 20_000), {
        type: "call-content",
        id: "a",
        text: 3_690,
        thinking: 2_930,
        toolInput: 3_050,
        toolCalls: 1,
      }),
    );
    expect(reading).toMatchObject({ tokens: 20_000 + 3_000 + 72, source: "anchored" });
  });

  test("the ratio calibrates itself within the session", () => {
    // This text has 2 characters a token, not 3.07: after a few calls the estimate follows.
    let state = metered(started("0", 20_000), finished("0", 100));
    let prompt = 20_000;
    const errors: number[] = [];
    for (let n = 1; n <= 8; n++) {
      state = meter(state, result(`t${n}`, 8_000));
      const truth = prompt + 100 + 4_000 + 31;
      errors.push(Math.abs(readMeter(state).tokens - truth));
      prompt = truth;
      state = [started(String(n), truth), finished(String(n), 100)].reduce(meter, state);
    }
    expect(errors[7]).toBeLessThan((errors[0] as number) / 5);
  });

  test("after a compaction it is unknown until the next call reports", () => {
    const compacted = metered(started("a", 90_000), finished("a", 500), { type: "compacted" });
    expect(readMeter(compacted).source).toBe("unknown");
    expect(readMeter([started("b", 30_000), finished("b", 10)].reduce(meter, compacted))).toMatchObject({
      tokens: 30_010,
      source: "exact",
    });
  });
});

describe("the policy", () => {
  const settings = { context_threshold: 80, max_restarts: 3 };
  const reading = (tokens: number, window = 100_000) => ({
    tokens,
    window,
    percent: tokens / 1000,
    source: "exact" as const,
    margin: 0,
  });
  const decide = (tokens: number, more = {}) =>
    decideBoundary({ ...settings, ...more }, { reading: reading(tokens), firstPrompt: 20_000, compactAt: undefined });

  test("hands over at or above the threshold, not below", () => {
    expect(decide(79_999)).toEqual({ go: true });
    expect(decide(80_000)).toEqual({ go: false, why: "context" });
  });

  test("is never later than the agent's own compaction, less room for a checkpoint and one large result", () => {
    expect(thresholdTokens(settings, 200_000, 167_000)).toBe(154_300);
    expect(thresholdTokens(settings, 200_000, undefined)).toBe(160_000);
    expect(thresholdTokens(settings, 40_000, 167_000)).toBe(32_000);
  });

  test("a first prompt above the threshold is said to be that", () => {
    expect(decideBoundary(settings, { reading: reading(85_000), firstPrompt: 81_000, compactAt: undefined })).toEqual({
      go: false,
      why: "window-too-small",
    });
  });

  test("a threshold of 100 and no restarts switch handovers off", () => {
    expect(decide(99_000, { context_threshold: 100 })).toEqual({ go: true });
    expect(decide(99_000, { max_restarts: 0 })).toEqual({ go: true });
    expect(handoversOn({ ...settings, max_restarts: 0 })).toBe(false);
  });
});
