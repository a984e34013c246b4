import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TranscriptMeter } from "../../src/agents/claude/transcript.js";
import { evaluate } from "../../src/context/evaluate.js";
import { ratiosFor } from "../../src/context/ratios.js";
import { planFiles } from "../support/plans.js";
import { scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

const usage = (prompt: number, output: number) => ({
  input_tokens: 3,
  cache_read_input_tokens: prompt - 3,
  cache_creation_input_tokens: 0,
  output_tokens: output,
});
const said = (id: string, prompt: number, output: number, more: object = {}, stop: string | null = "tool_use") => ({
  type: "assistant",
  isSidechain: false,
  message: {
    id,
    model: "claude-opus-4-6",
    stop_reason: stop,
    usage: usage(prompt, output),
    content: [{ type: "tool_use", id: `t-${id}`, name: "Bash", input: { command: "ls" } }],
  },
  ...more,
});
const answered = (id: string, chars: number) => ({
  type: "user",
  isSidechain: false,
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: `t-${id}`, content: "x".repeat(chars) }] },
});

function read(...lines: unknown[]): TranscriptMeter {
  const meter = new TranscriptMeter();
  for (const line of lines) meter.take(line);
  return meter;
}

const RATIOS = ratiosFor("claude-opus-4-6");

describe("a transcript", () => {
  test("lines with one message id are one call, and the expectation before a call is prompt, output and tail of the last", () => {
    const meter = read(
      said("a", 20_000, 100),
      said("a", 20_000, 100),
      answered("a", 1_000 * RATIOS.chars.bash),
      said("b", 21_200, 50),
    );
    expect(meter.calls.map((call) => call.truth)).toEqual([20_000, 21_200]);
    expect(meter.calls[0]?.expected.segno).toBeUndefined();
    expect(meter.calls[1]?.expected.segno).toBe(20_000 + 100 + 1_000 + RATIOS.perResult);
    expect(meter.usage.get("claude-opus-4-6")).toMatchObject({ output: 150, cacheRead: 41_194 });
  });

  test("a placeholder output is estimated from content; a later line of the same call corrects the sum", () => {
    const placeholder = read(said("a", 20_000, 1, {}, null), answered("a", 0), said("b", 20_200, 50));
    expect(placeholder.calls[1]?.expected.segno).toBeGreaterThan(20_072);
    const corrected = read(said("a", 20_000, 1, {}, null), said("a", 20_000, 500), said("b", 20_600, 1, {}, null));
    expect(corrected.calls[1]?.expected.segno).toBe(20_500);
    expect(corrected.usage.get("claude-opus-4-6")?.output).toBe(501);
  });

  test("sub-agents never move it and always cost; errors and synthetic messages are no calls", () => {
    const meter = read(
      said("a", 20_000, 100),
      said("s", 900_000, 7, { isSidechain: true }),
      said("p", 900_000, 7, { parent_tool_use_id: "t" }),
      said("x", 5, 5, { isApiErrorMessage: true }),
      said("b", 20_150, 50),
    );
    expect(meter.calls.map((call) => call.truth)).toEqual([20_000, 20_150]);
    expect(meter.subagentCalls).toBe(2);
    expect(meter.usage.get("claude-opus-4-6")?.output).toBe(164);
  });

  test("after a compaction nothing is claimed until the next call reports", () => {
    const meter = read(
      said("a", 160_000, 100),
      { type: "system", subtype: "compact_boundary", compactMetadata: { preTokens: 160_100 } },
      said("b", 50_000, 50),
      said("c", 50_060, 5),
    );
    expect(meter.compactions).toEqual([1]);
    expect(meter.calls.map((call) => call.expected.segno)).toEqual([undefined, undefined, 50_050]);
  });

  test("nonsense is no crash", () => {
    expect(
      read(
        null,
        7,
        "x",
        [],
        {},
        { type: "assistant" },
        { type: "assistant", message: { id: "a", model: "m", usage: {} } },
        { type: "user", message: { content: [null] } },
        { type: "attachment" },
      ).calls,
    ).toEqual([]);
  });

  test("evaluation counts a threshold as exact, early, late or never", () => {
    const session = (guesses: (number | undefined)[], truths: number[]) => ({
      window: 100,
      calls: truths.map((truth, index) => ({ truth, expected: { segno: guesses[index] } })),
    });
    const at80 = (...args: Parameters<typeof session>) => evaluate([session(...args)], "segno").thresholds["80"];
    expect(at80([undefined, 50, 81], [10, 50, 80])).toEqual({ exact: 1, early: 0, late: 0, never: 0 });
    expect(at80([undefined, 80, 81], [10, 50, 80])).toMatchObject({ early: 1 });
    expect(at80([undefined, 50, 79, 90], [10, 50, 80, 90])).toMatchObject({ late: 1 });
    expect(at80([undefined, 50, 60], [10, 50, 80])).toMatchObject({ never: 1 });
    expect(evaluate([session([undefined, 110, 95], [10, 100, 100])], "segno").error).toEqual({
      median: 10,
      p90: 10,
      p99: 10,
      bias: 2.5,
    });
  });
});

describe("segno meter", () => {
  test("reads the real client's transcripts: the calls the model answered, errors far below other ways of counting, damaged lines skipped", async () => {
    const place = await site({
      agent: "claude",
      repo: scratchRepo(planFiles([{ id: "1", tasks: 8 }])),
      charsPerTask: 9_000,
    });
    expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(0);
    const folder = join(place.home, ".claude/projects");
    const shown = JSON.parse((await place.segno(["meter", folder, "--json"]).ended).stdout);
    expect(shown.sessions).toHaveLength(1);
    expect(shown.sessions[0].calls).toBe(place.exchanges.length);
    const judged = JSON.parse((await place.segno(["meter", folder, "--evaluate", "--json"]).ended).stdout);
    expect(judged).toMatchObject({ sessions: 1, predictions: place.exchanges.length - 1 });
    expect(Object.keys(judged)).toEqual(expect.arrayContaining(["error", "thresholds", "baselines"]));
    expect(judged.error.median).toBeLessThan(1.5);
    for (const other of Object.values(judged.baselines) as { error: { median: number } }[])
      expect(other.error.median).toBeGreaterThan(10 * judged.error.median);
    appendFileSync(join(folder, "broken.jsonl"), '{"type":"assist\nnot json\n');
    const text = await place.segno(["meter", folder]).ended;
    expect([text.code, text.stdout]).toEqual([
      0,
      expect.stringMatching(/\d+ calls, first \d+k, peak \d+k \([\d.]+ % of 200k\), 0 compactions/),
    ]);
    const nothing = await place.segno(["meter", join(folder, "broken.jsonl")]).ended;
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("No model call was found")]);
  });
});
