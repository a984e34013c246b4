/** Streams of the real Claude Code, recorded by `npm run record`: what each of them shows, and what the meter makes of it. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, test } from "vitest";
import type { Observation } from "../../src/agents/agent.js";
import { ClaudeStream } from "../../src/agents/claude/stream.js";
import { TranscriptMeter } from "../../src/agents/claude/transcript.js";
import { meter, newMeter, readMeter } from "../../src/context/meter.js";

interface Metered {
  /** The reading just before each main-thread call, beside the prompt that call reported. */
  predictions: { expected: number; margin: number; source: string; truth: number }[];
  observations: Observation[];
  /** Readings of which the next observation was a sub-agent's, and the reading after it. */
  aroundSubagents: [number, number][];
}

const linesOf = (name: string): SDKMessage[] =>
  gunzipSync(readFileSync(new URL(`../fixtures/streams/${name}.jsonl.gz`, import.meta.url)))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as SDKMessage);

function metered(name: string): Metered {
  const state = newMeter();
  const seen: Metered = { predictions: [], observations: [], aroundSubagents: [] };
  const stream = new ClaudeStream((observation) => {
    seen.observations.push(observation);
    if (observation.type !== "meter") return;
    if (observation.input.type === "call-started" && observation.input.prompt > 0) {
      const { tokens, margin, source } = readMeter(state);
      seen.predictions.push({ expected: tokens, margin, source, truth: observation.input.prompt });
    }
    meter(state, observation.input);
  });
  for (const line of linesOf(name)) {
    const before = readMeter(state).tokens;
    stream.take(line);
    if ("parent_tool_use_id" in line && line.parent_tool_use_id !== null)
      seen.aroundSubagents.push([before, readMeter(state).tokens]);
  }
  return seen;
}

const percentOff = ({ expected, truth }: Metered["predictions"][number]): number =>
  (Math.abs(expected - truth) / truth) * 100;
const calls = ({ observations }: Metered, subagent: boolean): number =>
  observations.filter((observation) => observation.type === "call" && observation.subagent === subagent).length;

describe("recorded streams", () => {
  test.each([
    ["sequence", 9, 2.5],
    ["parallel", 3, 4],
    ["subagent", 3, 2.5],
    ["kinds", 5, 16],
    ["cut", 3, 4],
  ])("%s: %s calls, each prompt foreseen within %s %%", (name, count, most) => {
    const seen = metered(name);
    expect(seen.predictions).toHaveLength(count);
    for (const prediction of seen.predictions.slice(1)) {
      expect(percentOff(prediction)).toBeLessThan(most);
      expect(["exact", "anchored"]).toContain(prediction.source);
    }
  });

  test("parallel tool calls are one call, and all their results are in the next prompt", () => {
    const seen = metered("parallel");
    const tools = seen.observations.filter((observation) => observation.type === "tool");
    expect(tools.map((tool) => (tool.type === "tool" ? tool.name : ""))).toEqual(["Bash", "Bash", "Bash", "Bash"]);
    const [first, second] = seen.predictions;
    // Some 1,300 tokens of tail, in numbers, which weigh more than the shell output the ratio was fitted on.
    expect((second?.expected ?? 0) - (first?.truth ?? 0)).toBeGreaterThan(800);
    expect(Math.abs((second?.expected ?? 0) - (second?.truth ?? 0))).toBeLessThanOrEqual(2 * (second?.margin ?? 0));
  });

  test("a sub-agent's messages never change the reading and are always in the cost", () => {
    const seen = metered("subagent");
    expect(seen.aroundSubagents.length).toBeGreaterThan(1);
    for (const [before, after] of seen.aroundSubagents) expect(after).toBe(before);
    expect(calls(seen, true)).toBeGreaterThan(0);
    expect(calls(seen, false)).toBe(3);
  });

  test("every assistant message shows a placeholder; the true count comes with message_delta", () => {
    const lines = linesOf("sequence");
    const shown = lines.flatMap((line) => (line.type === "assistant" ? [line.message.usage.output_tokens] : []));
    expect(new Set(shown)).toEqual(new Set([1]));
    const counted = metered("sequence").observations.flatMap((observation) =>
      observation.type === "call" ? [observation.usage.output] : [],
    );
    expect(Math.min(...counted)).toBeGreaterThan(5);
  });

  test("lines that share a message id are one call", () => {
    const ids = linesOf("sequence").flatMap((line) => (line.type === "assistant" ? [line.message.id] : []));
    expect(ids.length).toBeGreaterThan(new Set(ids).size);
    expect(metered("sequence").predictions).toHaveLength(new Set(ids).size);
  });

  test("the result message's usage is a sum over calls and moves nothing", () => {
    const result = linesOf("sequence").find((line) => line.type === "result");
    const last = metered("sequence").predictions.at(-1)?.truth ?? 0;
    const { usage } = result as Extract<SDKMessage, { type: "result" }>;
    expect(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens).toBeGreaterThan(
      3 * last,
    );
  });

  test("a compaction makes the reading unknown until the next call re-anchors it", () => {
    const seen = metered("compaction");
    expect(seen.observations.filter((observation) => observation.type === "compacted")).toHaveLength(1);
    const unknown = seen.predictions.filter((prediction) => prediction.source === "unknown");
    expect(unknown).toHaveLength(1);
    const after = seen.predictions.slice(seen.predictions.indexOf(unknown[0] as (typeof unknown)[number]) + 1);
    for (const prediction of after) expect(percentOff(prediction)).toBeLessThan(2.5);
    // The only readings that went down by more than their margin.
    const drops = seen.predictions.filter(
      ({ truth, expected, margin, source }) => expected - truth > margin + 1 && source !== "unknown",
    );
    expect(drops).toEqual([]);
  });

  test("usage that stops coming: the estimate goes on from the last call that reported", () => {
    const seen = metered("silent");
    expect(seen.predictions).toHaveLength(4);
    const last = seen.predictions.at(-1);
    expect(last?.source).toBe("anchored");
    expect(percentOff(last as Metered["predictions"][number])).toBeLessThan(10);
  });

  test("`segno meter` reads the same streams with the same calls", () => {
    for (const name of ["sequence", "parallel", "subagent", "compaction", "silent", "cut", "kinds"]) {
      const transcript = new TranscriptMeter();
      for (const line of linesOf(name)) transcript.take(line);
      expect(transcript.calls.map((call) => call.truth)).toEqual(metered(name).predictions.map(({ truth }) => truth));
    }
  });
});
