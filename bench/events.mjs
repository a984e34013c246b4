// What one message of the agent costs Segno (read, metered, folded, written to the journal), against JSON.parse of it.
import { join } from "node:path";
import { ClaudeStream } from "../build/agents/claude/stream.js";
import { meter, newMeter, readMeter } from "../build/context/meter.js";
import { LiveRun } from "../build/engine/live-run.js";
import { evolve } from "../build/run/evolve.js";
import { redactor } from "../build/secrets/redact.js";
import { FileStore } from "../build/store/file.js";
import { best, report, scratch } from "./measure.mjs";
import { runStarted } from "./run-started.mjs";

const CALLS = 2_000;
const place = { phase: "1", attempt: 1, session: "1/a1/session/1" };

/** A session as Claude Code streams it: per call nine messages, with a tool result of 2,400 characters. */
function stream() {
  const lines = [];
  const add = (message) =>
    lines.push(JSON.stringify({ session_id: "s", uuid: "00000000-0000-0000-0000-000000000000", ...message }));
  const text = "compiled module, checked types, resolved 12 imports.\n".repeat(45);
  for (let n = 0; n < CALLS; n++) {
    const id = `msg_${n}`;
    const usage = {
      input_tokens: 3,
      cache_read_input_tokens: 20_000 + n * 60,
      cache_creation_input_tokens: 900,
      output_tokens: 1,
    };
    const event = (inner) => add({ type: "stream_event", parent_tool_use_id: null, event: inner });
    event({ type: "message_start", message: { id, model: "claude-sonnet-4-5", content: [], usage } });
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
    event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Looking at the module now." } });
    const message = (content) =>
      add({
        type: "assistant",
        parent_tool_use_id: null,
        message: { id, model: "claude-sonnet-4-5", role: "assistant", content, usage },
      });
    message([{ type: "text", text: "Looking at the module now." }]);
    message([{ type: "tool_use", id: `toolu_${n}`, name: "Bash", input: { command: `npm run check -- module-${n}` } }]);
    event({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 180 } });
    event({ type: "message_stop" });
    add({
      type: "user",
      parent_tool_use_id: null,
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${n}`, content: text }] },
    });
    add({ type: "system", subtype: "status", status: "requesting" });
  }
  return lines;
}

const lines = stream();
const parse = best(5, () => {
  for (const line of lines) JSON.parse(line);
});

async function started(folder) {
  const run = new LiveRun(await new FileStore(folder).create("r", { epoch: 1, redact: redactor({}) }), []);
  const phase = {
    id: "1",
    title: "t",
    dependsOn: [],
    tasks: [],
    gates: [],
    text: "",
    mark: undefined,
    file: "P.md",
    line: 1,
  };
  const plan = { title: "t", goal: "", file: "P.md", files: ["P.md"], phases: [phase] };
  run.append(runStarted(plan));
  run.append({
    type: "command-issued",
    phase: "1",
    command: { type: "start-phase", id: "1/a1/start", phase: "1", attempt: 1 },
  });
  run.append({
    type: "phase-started",
    command: "1/a1/start",
    phase: "1",
    attempt: 1,
    head: "h",
    baseline: "b",
    staged: [],
  });
  run.append({
    type: "command-issued",
    phase: "1",
    command: {
      type: "start-session",
      id: place.session,
      session: place.session,
      phase: "1",
      attempt: 1,
      purpose: "work",
      n: 1,
      opening: "work",
    },
  });
  return run;
}

const root = scratch();
let turn = 0;
const runs = [];
for (let n = 0; n < 6; n++) runs.push(await started(join(root, `r${n}`)));
const whole = best(5, () => {
  const run = runs[turn++];
  let state = newMeter(200_000);
  const seen = new ClaudeStream((observation) => {
    if (observation.type === "meter") state = meter(state, observation.input);
    if (observation.type === "call") {
      const { id, model, usage, subagent } = observation;
      run.append({ type: "call-made", ...place, call: id, model, usage, subagent, reading: readMeter(state) });
    }
    if (observation.type === "tool") {
      const { kind, name, brief, ok, subagent } = observation;
      run.append({ type: "tool-finished", ...place, kind, tool: name, brief, ok, subagent });
    }
  });
  for (const line of lines) seen.take(JSON.parse(line));
});
for (const run of runs) await run.close();
const each = (ms) => `${((ms * 1000) / lines.length).toFixed(1)} µs`;
report(`one message of the agent's stream (${lines.length} messages)`, [
  ["JSON.parse alone", each(parse)],
  ["parsed, metered, folded, in the journal", `${each(whole)}, ${(whole / parse).toFixed(1)} times`],
]);

// A journal of 50,000 events, as a run of many hours leaves it.
const long = join(root, "long");
const run = await started(long);
while (run.state.seq < 50_000) {
  const n = run.state.seq;
  const reading = { tokens: n, window: 200_000, percent: 10, source: "exact", margin: 0 };
  run.append({
    type: "call-made",
    ...place,
    call: `msg_${n}`,
    model: "m",
    usage: { input: 3, cacheRead: 20_000, cacheWrite: 900, output: 180 },
    subagent: false,
    reading,
  });
}
await run.close();
const read = async () => {
  const journal = await new FileStore(long).read("r");
  let state;
  for (const event of journal.events) state = evolve(state, event);
  return state.seq;
};
await read();
const times = [];
for (let n = 0; n < 3; n++) {
  const began = performance.now();
  await read();
  times.push(performance.now() - began);
}
const resume = Math.min(...times);
report("a journal of 50,000 events", [["read, checked and folded", `${resume.toFixed(0)} ms`]]);
