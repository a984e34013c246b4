import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Meter, type MeterInput, meter, newMeter, readMeter } from "../../src/context/meter.js";
import { ratiosFor } from "../../src/context/ratios.js";

/** What the fit says, of the older models and of the later ones. */
const OLD = ratiosFor("claude-sonnet-4-5");
const LATER = ratiosFor("claude-opus-4-8");
/** As many characters as these tokens have. */
const bash = (tokens: number, { chars } = OLD): number => tokens * chars.bash;

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
    const old = readMeter(metered(started("a", 20_000), finished("a", 0), result("t", bash(10_000))));
    expect(old).toMatchObject({ tokens: 20_000 + 10_000 + OLD.perResult, source: "anchored" });
    const recent = readMeter(
      metered(started("a", 20_000, "claude-opus-4-8"), finished("a", 0), result("t", bash(10_000, LATER))),
    );
    expect(recent.tokens).toBe(20_000 + 10_000 + LATER.perResult);
    expect(LATER.chars.bash).toBeLessThan(OLD.chars.bash);
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
        text: OLD.output.text * 1_000,
        thinking: OLD.output.thinking * 1_000,
        toolInput: OLD.output.toolInput * 1_000,
        toolCalls: 1,
      }),
    );
    expect(reading).toMatchObject({ tokens: 20_000 + 3_000 + OLD.output.perToolCall, source: "anchored" });
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

describe("an agent that reports nothing", () => {
  const silent = (id: string): MeterInput => started(id, 0);

  test("is estimated from what is read and said, with a wide margin that a known first prompt narrows", () => {
    const inputs = [
      silent("a"),
      { type: "call-content", id: "a", text: OLD.output.text * 100, thinking: 0, toolInput: 0, toolCalls: 0 },
      result("t", bash(1_000)),
    ] as MeterInput[];
    const general = readMeter(inputs.reduce(meter, newMeter(100_000)));
    expect(general).toMatchObject({ tokens: 31_600 + 100 + 1_000 + OLD.perResult, source: "estimated" });
    expect(general.margin).toBeGreaterThan(general.tokens / 3);
    const seen = readMeter(inputs.reduce(meter, newMeter(100_000, 22_000)));
    expect(seen).toMatchObject({ tokens: 22_000 + 1_100 + OLD.perResult, source: "estimated" });
    expect(seen.margin).toBeLessThan(seen.tokens / 5);
  });

  test("usage that stops keeps the last anchor, and the silent calls' words join the tail", () => {
    const before = readMeter(metered(started("a", 20_000), finished("a", 100), result("t", bash(1_000))));
    const after = readMeter(
      metered(
        started("a", 20_000),
        finished("a", 100),
        result("t", bash(1_000)),
        silent("b"),
        { type: "call-content", id: "b", text: OLD.output.text * 1_000, thinking: 0, toolInput: 0, toolCalls: 0 },
        result("u", bash(1_000)),
      ),
    );
    expect(after.source).toBe("anchored");
    expect(after.tokens - before.tokens).toBe(1_000 + 1_000 + OLD.perResult);
    const again = readMeter(metered(started("a", 20_000), silent("b"), started("c", 23_000), finished("c", 5)));
    expect(again).toMatchObject({ tokens: 23_005, source: "exact" });
  });
});

describe("what shrinks", () => {
  test("cleared tool results are taken off", () => {
    const shrunk = metered(started("a", 90_000), finished("a", 100), { type: "shrunk", saved: 30_000 });
    expect(readMeter(shrunk).tokens).toBe(60_100);
  });

  test("after a compaction the reading is unknown, and as good as what the agent says is left", () => {
    expect(readMeter(metered(started("a", 90_000), { type: "compacted", after: 12_000 }))).toMatchObject({
      tokens: 12_000,
      source: "unknown",
    });
    expect(readMeter(metered(started("a", 20_000), started("b", 90_000), { type: "compacted" }))).toMatchObject({
      tokens: 26_800,
      source: "unknown",
    });
  });

  test("a prompt that silently shrank re-anchors with one call", () => {
    const state = metered(started("a", 90_000), finished("a", 10), result("t", bash(1_000)), started("b", 60_000));
    expect(readMeter([finished("b", 10)].reduce(meter, state))).toMatchObject({ tokens: 60_010, source: "exact" });
  });
});

/** A session whose tails weigh what they are estimated at, give or take an eighth. */
const anySession = fc.array(
  fc.record({
    output: fc.integer({ min: 1, max: 5_000 }),
    results: fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 4 }),
    off: fc.double({ min: 0.88, max: 1.12, noNaN: true }),
  }),
  { minLength: 2, maxLength: 30 },
);

describe("properties of the meter", () => {
  test("a reading goes down by more than its margin only after a compaction, shrinkage or new session", () => {
    fc.assert(
      fc.property(anySession, (calls) => {
        const state = newMeter(1_000_000);
        let [prompt, n] = [20_000, 0];
        for (const { output, results, off } of calls) {
          const id = `c${n++}`;
          meter(state, started(id, prompt));
          meter(state, finished(id, output));
          const tokens = results.map((chars, index) => {
            meter(state, result(`${id}-${index}`, chars));
            return chars / OLD.chars.bash + OLD.perResult;
          });
          const before = readMeter(state);
          prompt = Math.round(prompt + output + tokens.reduce((sum, each) => sum + each, 0) * off);
          meter(state, started(`c${n}`, prompt));
          meter(state, finished(`c${n}`, 0));
          n++;
          expect(before.tokens - readMeter(state).tokens).toBeLessThanOrEqual(before.margin + 1);
        }
      }),
    );
  });

  test("what a tail weighs more or less than expected is within the margin said", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 90_000 }),
        fc.double({ min: 0.77, max: 1.29, noNaN: true }),
        (chars, off) => {
          const reading = readMeter(metered(started("a", 20_000), finished("a", 10), result("t", chars)));
          const truth = 20_010 + (chars / OLD.chars.bash + OLD.perResult) * off;
          expect(Math.abs(reading.tokens - truth)).toBeLessThanOrEqual(reading.margin + 1);
        },
      ),
    );
  });
});
