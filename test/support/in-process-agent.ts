/**
 * An agent in this process: the stand-in's behaviour behind the agent port, with real shells and real files. Held to the
 * same contract as the others; for tests whose subject is not the agent.
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Agent, AgentSession, SessionOptions } from "../../src/agents/agent.js";
import { windowIn } from "../../src/agents/claude/errors.js";
import { sizeOf } from "../../src/agents/content-size.js";
import { MARKER, sweep } from "../../src/agents/processes.js";
import { listPrice } from "../../src/context/prices.js";
import type { ContentKind } from "../../src/context/ratios.js";
import { PromptCache } from "../../src/rehearsal/cache.js";
import type { Reply, ReplyBlock } from "../../src/rehearsal/reply.js";
import {
  type Block,
  type ModelRequest,
  piecesOf,
  promptTokens,
  type RequestMessage,
} from "../../src/rehearsal/request.js";
import type { Behaviour, Exchange } from "../../src/rehearsal/server.js";
import { countTokens } from "../../src/rehearsal/tokens.js";
import type { StopWhy, ToolKind, TurnEnd } from "../../src/run/event.js";
import { ONLY_SEGNO_TOOLS } from "../../src/tools/tools.js";

/** As Claude Code names them, so that what is scripted for one fits the other. */
const PREFIX = "mcp__segno__";
/** As large as the real one's system prompt and tools. */
const SYSTEM = "You are an agent that works on a plan. ".repeat(2_050);
const TOOLS: Record<string, [ToolKind, ContentKind]> = {
  Bash: ["shell", "bash"],
  Read: ["read", "read"],
  Write: ["edit", "edit"],
  Edit: ["edit", "edit"],
};
const MOST_OUTPUT = 30_000;
/** Where Claude Code compacts: the window less its largest answer and some room. */
const ROOM = 33_000;

export interface InProcessOptions {
  /** With the environment of the session that asks. */
  behaviour: (request: ModelRequest, env: Readonly<Record<string, string>>) => ReturnType<Behaviour>;
  window?: number;
  onExchange?: (exchange: Exchange) => void;
  name?: string;
}

export function inProcessAgent(options: InProcessOptions): Agent {
  const conversations = new Map<string, RequestMessage[]>();
  const cache = new PromptCache();
  return {
    name: options.name ?? "in-process",
    title: "The agent in process",
    abilities: { stop: "boundary", usage: "call", compaction: "vetoed", refuses: true, tells: true, resume: true },
    levels: { all: "everything", edits: "edits", listed: "a list", auto: "as it judges" },
    sandboxes: true,
    homeVariable: "NO_HOME",
    reads: [],
    help: { install: "It is here.", login: "It needs none." },
    isDraft: (name) => /\.tmp\.[\d.a-f]+$/.test(name),
    toolName: (tool) => PREFIX + tool,
    credit: (model) => `In process (${model}) <in-process@segno.invalid>`,
    priceOf: () => listPrice(3, 15),
    account: () => "",
    check: async () => ({ ok: true, account: "none" }),
    checkQuickly: async () => ({ ok: true, account: "none" }),
    canResume: async (agentSession) => conversations.has(agentSession),
    open: async (session) => new InProcessSession(options, session, conversations, cache),
  };
}

type Ran = { text: string; ok: boolean };

class InProcessSession implements AgentSession {
  readonly #agent: InProcessOptions;
  readonly #options: SessionOptions;
  readonly #cache: PromptCache;
  readonly #messages: RequestMessage[];
  readonly #read = new Set<string>();
  readonly #window: number;
  readonly #id: string;
  #begun = false;
  #prompts = 0;
  #onlySegnoTools = false;
  #gone: (() => void)[] = [];
  #closed = false;

  constructor(
    agent: InProcessOptions,
    options: SessionOptions,
    conversations: Map<string, RequestMessage[]>,
    cache: PromptCache,
  ) {
    this.#agent = agent;
    this.#options = options;
    this.#cache = cache;
    this.#window = agent.window ?? 200_000;
    this.#id = options.resume ?? randomUUID();
    this.#messages = conversations.get(this.#id) ?? [];
    conversations.set(this.#id, this.#messages);
  }

  async send(prompt: string, { onlySegnoTools } = { onlySegnoTools: false }): Promise<TurnEnd> {
    const { observe } = this.#options.handlers;
    if (this.#closed) return { type: "crashed", message: "it was closed" };
    this.#onlySegnoTools = onlySegnoTools;
    const key = `prompt-${++this.#prompts}`;
    observe({ type: "meter", input: { type: "appended", key, kind: "user", chars: prompt.length, isResult: false } });
    this.#say({ type: "text", text: prompt });
    if (!this.#begun) {
      this.#begun = true;
      observe({ type: "ready", agentSession: this.#id, model: this.#model });
      observe({ type: "window", window: this.#window, compactAt: this.#compactAt });
    }
    const closed = new Promise<TurnEnd>((done) => {
      this.#gone.push(() => done({ type: "crashed", message: "it was closed" }));
    });
    return Promise.race([this.#turn(), closed]);
  }

  get #compactAt(): number | undefined {
    return this.#options.compacts ? this.#window - ROOM : undefined;
  }

  get #model(): string {
    return this.#options.model ?? "claude-sonnet-4-5";
  }

  /** What is said after a stop reaches the model beside the results that wait. */
  #say(block: Block): void {
    const last = this.#messages.at(-1);
    if (last?.role === "user" && Array.isArray(last.content)) last.content.push(block);
    else this.#messages.push({ role: "user", content: [block] });
  }

  async #turn(): Promise<TurnEnd> {
    for (;;) {
      const request = this.#request();
      const tokens = promptTokens(request);
      if (tokens > this.#window) return { type: "too-long", window: this.#window };
      if (tokens > (this.#compactAt ?? this.#window) && this.#options.handlers.mayCompact())
        return compacted(this.#options, tokens);
      const reply = await this.#agent.behaviour(request, this.#options.env);
      if (this.#closed) return { type: "crashed", message: "it was closed" };
      if (reply.type === "hang") return new Promise(() => {});
      if (reply.type === "error") return failed(reply);
      if (reply.type === "cut") return { type: "failed", kind: "api", message: "the stream was cut" };
      const stopped = await this.#took(request, reply);
      if (stopped !== undefined) return stopped;
    }
  }

  /** Undefined where the turn goes on. */
  async #took(request: ModelRequest, reply: Extract<Reply, { type: "message" }>): Promise<TurnEnd | undefined> {
    const { observe, boundary } = this.#options.handlers;
    const id = randomUUID();
    const input = this.#cache.account(request.model, piecesOf(request));
    const output = reply.content.reduce((sum, block) => sum + countTokens(textOf(block)) + 4, 0);
    this.#agent.onExchange?.({ at: Date.now(), request, reply, usage: { ...input, output_tokens: output } });
    const silent = reply.silent === true;
    const usage = {
      input: silent ? 0 : input.input_tokens,
      cacheRead: silent ? 0 : input.cache_read_input_tokens,
      cacheWrite: silent ? 0 : input.cache_creation_input_tokens,
      output: silent ? 0 : output,
    };
    const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
    observe({ type: "meter", input: { type: "call-started", id, model: this.#model, prompt } });
    const calls = reply.content.flatMap((block) =>
      block.type === "tool_use" ? [{ ...block, id: `toolu_${randomUUID()}` }] : [],
    );
    const said = reply.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    for (const text of said) observe({ type: "said", text });
    observe({
      type: "meter",
      input: {
        type: "call-content",
        id,
        text: said.join("").length,
        thinking: 0,
        toolInput: calls.reduce((sum, call) => sum + JSON.stringify(call.input).length, 0),
        toolCalls: calls.length,
      },
    });
    observe({ type: "meter", input: { type: "call-finished", id, output: usage.output } });
    observe({ type: "call", id, model: this.#model, usage, subagent: false });
    this.#messages.push({
      role: "assistant",
      content: [...said.map((text): Block => ({ type: "text", text })), ...calls],
    });
    if (calls.length === 0) return { type: "finished" };
    for (const call of calls) observe({ type: "tool-started", id: call.id });
    for (const call of calls) await this.#called(call);
    if (this.#closed) return { type: "crashed", message: "it was closed" };
    const decision = await boundary();
    if (decision.stop) return stoppedBy(decision.why);
    if (decision.tell !== undefined) this.#say({ type: "text", text: decision.tell });
    return undefined;
  }

  async #called(call: { id: string; name: string; input: Record<string, unknown> }): Promise<void> {
    const { observe } = this.#options.handlers;
    const { id, name, input } = call;
    const ran = await this.#run(name, input);
    const ours = name.startsWith(PREFIX);
    const [kind, content]: [ToolKind, ContentKind] = ours ? ["segno", "mcp"] : (TOOLS[name] ?? ["other", "other"]);
    this.#say({ type: "tool_result", tool_use_id: id, content: ran.text, is_error: !ran.ok });
    observe({
      type: "meter",
      input: { type: "appended", key: id, kind: content, ...sizeOf(ran.text), isResult: true },
    });
    observe({
      type: "tool",
      id,
      kind,
      name: ours ? name.slice(PREFIX.length) : name,
      brief: brief(input),
      ok: ran.ok,
      subagent: false,
      call: hash([name, input]),
      result: hash(ran.text),
      edit:
        kind === "edit" ? { file: String(input.file_path), to: hash(input.content ?? input.new_string) } : undefined,
    });
  }

  async #run(name: string, input: Record<string, unknown>): Promise<Ran> {
    const { tools, permissions, readOnly, deniedTools } = this.#options;
    if (name.startsWith(PREFIX)) {
      const { text, isError } = await tools.call(name.slice(PREFIX.length), input);
      return { text, ok: !isError };
    }
    const kind = TOOLS[name]?.[0];
    if (kind === undefined || deniedTools.includes(name)) return { text: `There is no tool ${name}.`, ok: false };
    if (this.#onlySegnoTools) return { text: ONLY_SEGNO_TOOLS, ok: false };
    const instead = this.#options.handlers.begins(kind);
    if (instead !== undefined) return { text: instead, ok: false };
    if (kind === "edit" && readOnly) return { text: "This session changes nothing.", ok: false };
    if (kind === "shell" && (permissions === "edits" || permissions === "listed"))
      return { text: "Shell commands are not permitted.", ok: false };
    if (kind === "shell") return this.#shell(String(input.command));
    const path = resolve(this.#options.cwd, String(input.file_path));
    return name === "Read" ? this.#reads(path) : this.#writes(name, path, input);
  }

  #reads(path: string): Ran {
    if (!existsSync(path)) return { text: "File does not exist.", ok: false };
    this.#read.add(path);
    return { text: readFileSync(path, "utf8"), ok: true };
  }

  #writes(name: string, path: string, input: Record<string, unknown>): Ran {
    if (existsSync(path) && !this.#read.has(path))
      return { text: "File has not been read yet. Read it first before writing to it.", ok: false };
    const before = existsSync(path) ? readFileSync(path, "utf8") : "";
    if (name === "Edit" && !before.includes(String(input.old_string)))
      return { text: "String to replace not found in file.", ok: false };
    mkdirSync(dirname(path), { recursive: true });
    const after = name === "Edit" ? before.replace(String(input.old_string), String(input.new_string)) : input.content;
    writeFileSync(path, String(after));
    this.#read.add(path);
    return { text: "The file has been written.", ok: true };
  }

  #shell(command: string): Promise<Ran> {
    const { cwd, env, marker } = this.#options;
    // Into a file: what it leaves in the background may hold a pipe open, and nothing of its output is lost.
    const file = join(mkdtempSync(join(tmpdir(), "segno-shell-")), "output");
    const out = openSync(file, "w");
    return new Promise((done) => {
      const ended = (text: string, ok: boolean) => {
        closeSync(out);
        const output = readFileSync(file, "utf8");
        rmSync(dirname(file), { recursive: true, force: true });
        done({ text: (text || output).slice(0, MOST_OUTPUT), ok });
      };
      const child = spawn("/bin/sh", ["-c", command], {
        cwd,
        env: { ...env, [MARKER]: marker },
        stdio: ["ignore", out, out],
        detached: true,
      });
      child.once("error", (error) => ended(error.message, false));
      child.once("exit", (code) => ended("", code === 0));
    });
  }

  #request(): ModelRequest {
    const { tools, readOnly, deniedTools } = this.#options;
    const own = Object.keys(TOOLS).filter((name) => !deniedTools.includes(name));
    const listed = readOnly ? own.filter((name) => TOOLS[name]?.[0] !== "edit") : own;
    const cached = { cache_control: { type: "ephemeral" } };
    const messages = structuredClone(this.#messages);
    const last = messages.at(-1);
    if (Array.isArray(last?.content) && last.content.length > 0) Object.assign(last.content.at(-1) as Block, cached);
    return {
      model: this.#model,
      stream: true,
      system: [{ type: "text", text: SYSTEM, ...cached }],
      tools: [
        ...listed.map((name) => ({ name })),
        ...tools.list.map(({ name, ...rest }) => ({ name: PREFIX + name, ...rest })),
      ],
      messages,
    };
  }

  async close(): Promise<number> {
    this.#closed = true;
    for (const done of this.#gone.splice(0)) done();
    return sweep((marker) => marker === this.#options.marker);
  }
}

const stoppedBy = (why: StopWhy): TurnEnd => ({ type: "stopped", why });

/** It does not sum its context up by itself: where it may, that is the end of what it can do. */
function compacted({ handlers }: SessionOptions, tokens: number): TurnEnd {
  handlers.observe({ type: "compacted", before: tokens, after: undefined });
  return { type: "too-long" };
}

function failed({ status, message, headers = {} }: Extract<Reply, { type: "error" }>): TurnEnd {
  const reset = headers["anthropic-ratelimit-unified-reset"];
  if (headers["anthropic-ratelimit-unified-status"] === "rejected" && reset !== undefined)
    return { type: "failed", kind: "limit", message, until: new Date(Number(reset) * 1_000).toISOString() };
  if (status === 401 || status === 403)
    return { type: "failed", kind: "auth", message: `the login is refused (${status})` };
  if (status === 404) return { type: "failed", kind: "model", message };
  if (status === 400 && message.startsWith("prompt is too long"))
    return { type: "too-long", window: windowIn(message) };
  return { type: "failed", kind: status === 429 || status >= 500 ? "api" : "request", message };
}

const textOf = (block: ReplyBlock): string =>
  block.type === "text" ? block.text : block.name + JSON.stringify(block.input);

const TELLING = ["file_path", "command", "message", "task", "text"];

const brief = (input: Record<string, unknown>): string => {
  const value = TELLING.map((key) => input[key]).find((candidate) => typeof candidate === "string");
  const line = String(value ?? "").split("\n")[0] ?? "";
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
};

const hash = (value: unknown): string =>
  createHash("sha1")
    .update(JSON.stringify(value) ?? "")
    .digest("base64url")
    .slice(0, 12);
