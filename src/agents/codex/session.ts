/**
 * Codex through its app-server.
 *
 * Invariants
 * 1. A call's usage comes through the hook that follows it, which Codex waits for: before any of its tools begins.
 * 2. Hooks come over HTTP, items over the process's own stream: a boundary is only decided when every tool that was let
 *    through has been seen to end there.
 * 3. A turn is stopped while Codex waits for the hook before its next call: no request goes out, and what the tools
 *    brought stays in the conversation.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { StopWhy, TurnEnd, Usage } from "../../run/event.js";
import { noticed, ONLY_SEGNO_TOOLS, type SegnoTools } from "../../tools/tools.js";
import type { AgentSession, SessionOptions } from "../agent.js";
import { diesWithParent, MARKER, sweep } from "../processes.js";
import { openSessionDoor, type SessionDoor } from "../session-door.js";
import { exited, settled, within } from "../within.js";
import { configArguments, HOOK_TOOL, modelOf, runsCommands, sandboxOf, TOKEN_VARIABLE } from "./config.js";
import { type CodexError, failedEnd, failedKind } from "./errors.js";
import { type Item, ItemStream, nameOf } from "./items.js";
import { type Notification, Rpc, RpcError } from "./rpc.js";
import { isOurs, PATCH, SHELL, toolKind } from "./tools.js";

const SETTLE_MS = 2_000;
const START_MS = 60_000;

export async function openSession(options: SessionOptions, executable: string): Promise<AgentSession> {
  const session = new CodexSession(options);
  await session.start(executable);
  return session;
}

interface HookInput {
  at?: string;
  usage?: Record<string, number> | null;
  status?: string;
  name?: string;
  id?: string;
  input?: unknown;
}

class CodexSession implements AgentSession {
  readonly #options: SessionOptions;
  readonly #items: ItemStream;
  #child: ChildProcessWithoutNullStreams | undefined;
  #rpc: Rpc | undefined;
  #door: SessionDoor | undefined;
  #thread = "";
  #turn: { id: string; resolve(end: TurnEnd): void; over: Promise<TurnEnd> } | undefined;
  #model = "";
  #calls = 0;
  /** A call ended since the last boundary, so a retry of the next one is not another. */
  #called = false;
  #onlySegnoTools = false;
  #oursCalled = false;
  #stopWhy: StopWhy | undefined;
  #gaveUp: TurnEnd | undefined;
  #error: CodexError | undefined;
  #until: Date | undefined;
  #gone: TurnEnd | undefined;
  #window = 0;
  #stderr = "";

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#items = new ItemStream(options.handlers.observe);
  }

  async start(executable: string): Promise<void> {
    const { handlers, cwd } = this.#options;
    this.#door = await openSessionDoor(this.#tools, new Map([[HOOK_TOOL, (input) => this.#hook(input as HookInput)]]));
    const [program, leading] = diesWithParent(executable);
    const args = [...leading, "app-server", ...configArguments(this.#options, this.#door)];
    const env = { ...this.#options.env, [MARKER]: this.#options.marker, [TOKEN_VARIABLE]: this.#door.token };
    const child = spawn(program, args, { cwd, env, stdio: "pipe", detached: true });
    this.#child = child;
    if (child.pid !== undefined) handlers.spawned(child.pid);
    this.#rpc = new Rpc(child.stdout, child.stdin, (notification) => this.#notified(notification));
    child.stderr.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-4_000);
    });
    child.on("error", (error) => this.#ended(error.message));
    child.on("exit", () => this.#ended("the agent's process ended"));
    try {
      await this.#begin(this.#rpc);
    } catch (error) {
      this.#ended(error instanceof Error ? error.message : String(error));
    }
  }

  async #begin(rpc: Rpc): Promise<void> {
    const { cwd, resume, handlers } = this.#options;
    const model = modelOf(this.#options);
    await within(START_MS, rpc.request("initialize", { clientInfo: { name: "segno", title: "Segno", version: "1" } }));
    rpc.notify("initialized");
    const config = { "hooks.state": await trustedHooks(rpc, cwd) };
    const common = { cwd, sandbox: sandboxOf(this.#options), approvalPolicy: "never", config };
    const named = model === undefined ? {} : { model };
    const started = await within(
      START_MS,
      rpc.request<{ thread: { id: string; model?: string }; model?: string }>(
        resume === undefined ? "thread/start" : "thread/resume",
        resume === undefined ? { ...common, ...named } : { ...common, ...named, threadId: resume },
      ),
    );
    this.#thread = started.thread.id;
    this.#model = started.model ?? started.thread.model ?? model ?? "";
    handlers.observe({ type: "ready", agentSession: this.#thread, model: this.#model });
  }

  send(prompt: string, { onlySegnoTools } = { onlySegnoTools: false }): Promise<TurnEnd> {
    const rpc = this.#rpc;
    if (this.#gone !== undefined || rpc === undefined) return Promise.resolve(this.#gone ?? CRASHED);
    this.#onlySegnoTools = onlySegnoTools;
    this.#stopWhy = undefined;
    this.#gaveUp = undefined;
    this.#error = undefined;
    this.#called = false;
    this.#oursCalled = false;
    this.#items.prompted(prompt);
    let resolve: (end: TurnEnd) => void = () => {};
    const over = new Promise<TurnEnd>((settle) => {
      resolve = settle;
    });
    const turn = { id: "", resolve, over };
    this.#turn = turn;
    const input = [{ type: "text", text: prompt, text_elements: [] }];
    rpc.request<{ turn: { id: string } }>("turn/start", { threadId: this.#thread, input }).then(
      (started) => {
        turn.id = started.turn.id;
      },
      (error: unknown) => this.#settle({ type: "failed", kind: "other", message: String(error) }),
    );
    return over;
  }

  async close(): Promise<number> {
    const child = this.#child;
    child?.stdin.end();
    await exited(SETTLE_MS, child);
    const swept = await sweep((marker) => marker === this.#options.marker);
    await this.#door?.close();
    return swept;
  }

  get #tools(): SegnoTools {
    return noticed(this.#options.tools, () => {
      this.#oursCalled = true;
    });
  }

  async #hook(given: HookInput): Promise<string> {
    switch (given.at) {
      case "before":
        return this.#beforeCall();
      case "after":
        this.#afterCall(given);
        return "{}";
      case "tool":
        return this.#beforeTool(given);
      case "compact":
        return this.#options.handlers.mayCompact() ? "{}" : JSON.stringify({ continue: false });
      default:
        return "{}";
    }
  }

  async #beforeCall(): Promise<string> {
    if (!this.#called || !this.#items.hasTools) return "{}";
    await this.#items.allSeen(SETTLE_MS);
    this.#called = false;
    this.#oursCalled = false;
    this.#items.boundary();
    const decision = await this.#options.handlers.boundary();
    if (!decision.stop) return "{}";
    this.#stopWhy = decision.why;
    await this.#interrupt();
    return "{}";
  }

  async #interrupt(): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined || this.#rpc === undefined) return;
    await this.#rpc.request("turn/interrupt", { threadId: this.#thread, turnId: turn.id }).catch(() => {});
    await settled(SETTLE_MS, turn.over);
  }

  #afterCall({ usage, status }: HookInput): void {
    if (status !== "completed" || usage === null || usage === undefined) return;
    const { observe } = this.#options.handlers;
    const id = `${this.#thread}/${++this.#calls}`;
    const counted = usageOf(usage);
    const prompt = counted.input + counted.cacheRead + counted.cacheWrite;
    observe({ type: "meter", input: { type: "call-started", id, model: this.#model, prompt } });
    observe({ type: "meter", input: { type: "call-finished", id, output: counted.output } });
    observe({ type: "call", id, model: this.#model, usage: counted, subagent: false });
    this.#called = true;
  }

  #beforeTool({ name = "", id = "", input }: HookInput): string {
    const refusal = this.#refusal(nameOf(name, input));
    this.#items.begins({ id, name, input }, refusal);
    if (refusal === undefined) return "{}";
    return JSON.stringify({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: refusal,
      },
    });
  }

  /** What a tool call is answered with instead of being carried out. */
  #refusal(name: string): string | undefined {
    if (isOurs(name)) return undefined;
    if (this.#onlySegnoTools) return ONLY_SEGNO_TOOLS;
    const { permissions, readOnly, deniedTools, allowedTools, handlers } = this.#options;
    const denied =
      deniedTools.includes(name) ||
      (readOnly && name === PATCH) ||
      (!allowedTools.includes(name) &&
        ((name === SHELL && !runsCommands(permissions) && !readOnly) || (permissions === "listed" && !readOnly)));
    if (denied) {
      const why = `permission_mode: ${permissions} does not allow it`;
      handlers.observe({ type: "refused", tool: name, why });
      return `${name} may not be used here (${why}).`;
    }
    return this.#oursCalled ? handlers.begins(toolKind(name)) : undefined;
  }

  #notified({ method, params }: Notification): void {
    const { observe } = this.#options.handlers;
    observe({ type: "alive" });
    if (params.threadId !== undefined && params.threadId !== this.#thread && this.#thread !== "") return;
    switch (method) {
      case "item/completed":
        this.#items.completed(params.item as Item);
        return;
      case "thread/tokenUsage/updated":
        this.#windowTold(params.tokenUsage as { modelContextWindow?: number | null });
        return;
      case "account/rateLimits/updated":
        this.#limitsTold(params.rateLimits as RateLimits | undefined);
        return;
      case "error":
        this.#errorTold(params as { error?: CodexError; willRetry?: boolean });
        return;
      case "turn/completed":
        this.#turnOver(params.turn as { status?: string; error?: CodexError | null });
        return;
      default:
        return;
    }
  }

  #windowTold({ modelContextWindow }: { modelContextWindow?: number | null }): void {
    if (typeof modelContextWindow !== "number" || modelContextWindow === this.#window) return;
    this.#window = modelContextWindow;
    // It tells 95 % of the model's own, and compacts at 90 % of that.
    const compactAt = this.#options.compacts ? Math.round((modelContextWindow / 0.95) * 0.9) : undefined;
    this.#options.handlers.observe({ type: "window", window: modelContextWindow, compactAt });
  }

  #limitsTold(limits: RateLimits | undefined): void {
    const resets = [limits?.primary, limits?.secondary]
      .filter((each) => (each?.usedPercent ?? 0) >= 100)
      .map((each) => each?.resetsAt ?? 0);
    const told = Math.max(0, limits?.primary?.resetsAt ?? 0, ...resets);
    if (told > 0) this.#until = new Date(told * 1_000);
  }

  #errorTold({ error = {}, willRetry }: { error?: CodexError; willRetry?: boolean }): void {
    this.#error = error;
    if (willRetry !== true) return;
    const kind = failedKind(error);
    const attempt = ++this.#retries;
    if (!this.#options.handlers.givesUp({ attempt, kind, message: error.message ?? "" })) return;
    this.#gaveUp = failedEnd(error, this.#until);
    void this.#interrupt();
  }
  #retries = 0;

  #turnOver({ status, error }: { status?: string; error?: CodexError | null }): void {
    if (this.#gaveUp !== undefined) return this.#settle(this.#gaveUp);
    if (status === "interrupted")
      return this.#settle(
        this.#stopWhy === undefined
          ? { type: "failed", kind: "other", message: "the turn was interrupted from elsewhere" }
          : { type: "stopped", why: this.#stopWhy },
      );
    if (status === "failed") return this.#settle(failedEnd(error ?? this.#error ?? {}, this.#until));
    this.#settle({ type: "finished" });
  }

  #settle(end: TurnEnd): void {
    this.#retries = 0;
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.resolve(end);
  }

  #ended(why: string): void {
    const said = this.#stderr.trim().split("\n").at(-1) ?? "";
    this.#gone ??= { type: "crashed", message: said === "" ? why : `${why}\n${said}` };
    this.#rpc?.ended(new RpcError(0, why));
    this.#settle(this.#gone);
  }
}

const CRASHED: TurnEnd = { type: "crashed", message: "it was not started" };

interface RateLimits {
  primary?: { usedPercent?: number; resetsAt?: number | null } | null;
  secondary?: { usedPercent?: number; resetsAt?: number | null } | null;
}

/** Ours are trusted by their hash; whatever else is there is not run. */
async function trustedHooks(rpc: Rpc, cwd: string): Promise<Record<string, unknown>> {
  const listed = await rpc.request<{ data?: { hooks?: { key: string; currentHash: string; source: string }[] }[] }>(
    "hooks/list",
    { cwds: [cwd] },
  );
  const hooks = (listed.data ?? []).flatMap((each) => each.hooks ?? []);
  return Object.fromEntries(
    hooks
      .filter(({ source }) => source === "sessionFlags")
      .map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]),
  );
}

const usageOf = (usage: Record<string, number>): Usage => {
  const { input_tokens = 0, cached_input_tokens = 0, cache_write_input_tokens = 0, output_tokens = 0 } = usage;
  return {
    input: Math.max(0, input_tokens - cached_input_tokens - cache_write_input_tokens),
    cacheRead: cached_input_tokens,
    cacheWrite: cache_write_input_tokens,
    output: output_tokens,
  };
};
