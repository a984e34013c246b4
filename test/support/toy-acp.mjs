// An ACP agent that does what its first argument says, well or badly: raw lines, so that everything can be wrong.
import { execSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , mode = "well"] = process.argv;
const write = (line) =>
  process.stdout.write(`${typeof line === "string" ? line : JSON.stringify({ jsonrpc: "2.0", ...line })}\n`);
const waiting = new Map();
let last = 1_000;
let session;
let cancelled = () => {};
const whenCancelled = new Promise((resolve) => {
  cancelled = resolve;
});

const ask = (method, params) =>
  new Promise((resolve) => {
    const id = ++last;
    waiting.set(id, resolve);
    write({ id, method, params });
  });
const update = (update, sessionId = "s1") => write({ method: "session/update", params: { sessionId, update } });
const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const note = (text) => appendFileSync("notes.txt", `${text}\n`);
let calls = 0;

async function tool(kind, title, rawInput, work = () => "done", id = `t${++calls}`) {
  update({ sessionUpdate: "tool_call", toolCallId: id, title, kind, status: "pending", rawInput });
  update({ sessionUpdate: "tool_call_update", toolCallId: id, status: "in_progress" });
  const text = await work();
  update({
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    status: "completed",
    content: [{ type: "content", content: { type: "text", text: String(text) } }],
  });
}

const shell = (command) => tool("execute", command, { command }, () => execSync(command, { encoding: "utf8" }));

/** One of Segno's tools, over MCP. */
async function ours(name, input) {
  const [{ url, headers }] = session.mcpServers;
  const own = Object.fromEntries(headers.map(({ name: key, value }) => [key, value]));
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } };
  await tool("other", `${name} (segno MCP Server)`, input, async () => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { ...own, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(call),
    });
    return answer.text();
  });
}

const options = [
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "yes", name: "Once", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const permission = async (kind, title, rawInput = {}) => {
  const toolCall = { toolCallId: `p${++calls}`, title, kind, rawInput };
  const { result } = await ask("session/request_permission", { sessionId: "s1", toolCall, options });
  note(`${title}: ${result.outcome.optionId ?? result.outcome.outcome}`);
};

const MODES = {
  async well() {
    say("Beginning.");
    await shell("echo hello");
    await ours("progress", { message: "half", task: "1.1" });
    say("All done.");
    return "end_turn";
  },
  /** A phase of two tasks, as its plan has them. */
  async phase() {
    for (const task of ["1.1", "1.2"]) {
      await shell(`mkdir -p out && echo x > out/${task.replace(".", "-")}.txt`);
      await ours("progress", { message: `made ${task}`, task });
    }
    const nothing = { tasks_remaining: [], files_modified: [], decisions: [] };
    await ours("phase_result", { status: "completed", summary: "Done.", tasks_completed: ["1.1", "1.2"], ...nothing });
    say("All done.");
    return "end_turn";
  },
  async usage() {
    update({ sessionUpdate: "usage_update", used: 0, size: 0 });
    say("Looking.");
    update({ sessionUpdate: "usage_update", used: 12_345, size: 128_000 });
    await shell("echo hello");
    return "end_turn";
  },
  async unknown() {
    for (const method of ["fs/read_text_file", "terminal/create", "_vendor/thing"]) {
      const { error } = await ask(method, { sessionId: "s1", path: "/etc/passwd" });
      note(`${method}: ${error?.code}`);
    }
    write({ method: "_vendor/told", params: {} });
    update({ sessionUpdate: "something_new", what: 1 });
    update(null);
    say("Done.");
    return "end_turn";
  },
  async late() {
    say("Done.");
    setTimeout(() => {
      update({ sessionUpdate: "tool_call", toolCallId: "late", title: "late", kind: "edit", status: "completed" });
      say("And another thing.");
    }, 20);
    return "end_turn";
  },
  async ids() {
    update({ sessionUpdate: "tool_call", toolCallId: "x", title: "x", kind: "execute", status: "completed" }, "other");
    update({ sessionUpdate: "tool_call_update", toolCallId: "never-begun", status: "completed" });
    update({ sessionUpdate: "tool_call_update", toolCallId: "never-begun", status: "completed" });
    update({ sessionUpdate: "tool_call_update", status: "completed" });
    write({ id: 4_711, result: { stopReason: "end_turn" } });
    write({ id: "a word", result: {} });
    write({ id: null, error: { code: 1, message: "to nobody" } });
    say("Done.");
    return "end_turn";
  },
  async garbage() {
    for (const line of ["", "Warning: old", "{", "[]", "[{}]", "42", '"text"', "null", "{}", "\u0000\ufffd"])
      write(line);
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", method: "session/update" })}\n`);
    say("x".repeat(300_000));
    say("Done.");
    return "end_turn";
  },
  async empty() {
    return "end_turn";
  },
  async odd() {
    say("Hm.");
    return "tired";
  },
  async refusal() {
    say("I will not.");
    return "refusal";
  },
  async dies() {
    await shell("echo hello");
    process.stderr.write("panic: out of luck\n");
    process.exit(3);
  },
  async closes() {
    process.stdout.end();
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  },
  async silence() {
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  },
  async loops() {
    const over = whenCancelled.then(() => true);
    for (;;) {
      await shell("echo again");
      if (await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 400, false))])) return "cancelled";
    }
  },
  async deaf() {
    for (let n = 0; n < 600; n++) {
      await shell("echo again");
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  },
  async asks() {
    await permission("edit", "edit a file");
    await permission("execute", "run a command", { command: "make" });
    await permission("other", "mcp__segno__progress");
    await permission("fetch", "read a page");
    say("Done.");
    return "end_turn";
  },
  async fails() {
    throw { code: -32_603, message: "Internal error", data: { details: "429 usage limit reached, try again in 2h" } };
  },
};

const INITIALIZED = {
  protocolVersion: mode === "old" ? 0 : 1,
  agentCapabilities: { mcpCapabilities: { http: mode !== "deprived" } },
  agentInfo: { name: "toy", title: "Toy", version: "1.0" },
};

async function answer({ id, method, params }) {
  if (method === "initialize") return write({ id, result: INITIALIZED });
  if (method === "session/new") {
    if (mode === "login") return write({ id, error: { code: -32_000, message: "Authentication required" } });
    session = params;
    return write({ id, result: { sessionId: "s1" } });
  }
  if (method === "session/prompt") {
    try {
      const stopReason = await (MODES[params.prompt[0].text] ?? MODES[mode] ?? MODES.well)();
      return write({ id, result: { stopReason } });
    } catch (error) {
      return write({ id, error });
    }
  }
  return write({ id, error: { code: -32_601, message: "no such method" } });
}

if (mode === "dead") process.exit(1);
createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text);
  if (line.method === "session/cancel") return cancelled();
  if (line.method === undefined) return waiting.get(line.id)?.(line);
  if (line.id !== undefined) void answer(line);
});
