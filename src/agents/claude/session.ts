/**
 * Claude Code through its Agent SDK.
 *
 * Invariants
 * 1. Hooks run beside the message stream: a boundary is only decided when the stream has shown the assistant message
 *    that holds the boundary's tool calls, its final usage, and the tools' results.
 * 2. Only the main thread's boundaries stop a turn: hooks fire inside sub-agents too.
 * 3. A turn is over with its result message and an empty set of background tasks, not before.
 */
import { spawn } from "node:child_process";
import type {
  Options,
  Query,
  SDKAssistantMessageError,
  SDKMessage,
  SDKUserMessage,
} from "@anthropic-ai/claude-agent-sdk";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { StopWhy, TurnEnd } from "../../run/event.js";
import { mcpServer } from "../../tools/mcp.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import { noticed, ONLY_SEGNO_TOOLS } from "../../tools/tools.js";
import type { AgentSession, PermissionLevel, SessionOptions } from "../agent.js";
import { diesWithParent, MARKER, sweep } from "../processes.js";
import { PromptQueue } from "../prompt-queue.js";
import { settled } from "../within.js";
import { failedKind, isLimitText, resetOf, windowIn } from "./errors.js";
import { ClaudeStream } from "./stream.js";
import { EDITING, isOurs, toolKind, toolName } from "./tools.js";

/** Tools that would move the session away from its checkout, or wake it up when Segno thinks it is idle. */
const NEVER = [
  "EnterWorktree",
  "ExitWorktree",
  "ScheduleWakeup",
  "CronCreate",
  "CronDelete",
  "CronList",
  "Monitor",
  "Workflow",
  "AskUserQuestion",
  "EnterPlanMode",
  "ExitPlanMode",
  "RemoteTrigger",
];

/** Variables of an agent that Segno itself may have been started from. */
const ENCLOSING =
  /^(CLAUDECODE|CLAUDE_CODE_(ENTRYPOINT|SSE_PORT|SESSION_ID|EXECPATH|CHILD_SESSION)|CLAUDE_AGENT_SDK_.*|CLAUDE_PROJECT_DIR|CLAUDE_PID|CLAUDE_EFFORT)$/;

const SETTLE_MS = 2_000;

/** Where a rehearsal names none: its window is as large as the stand-in's. */
const REHEARSAL_MODEL = "claude-sonnet-4-5";

/** The neutral levels in its own words. */
const MODES: Record<PermissionLevel, NonNullable<Options["permissionMode"]>> = {
  all: "bypassPermissions",
  edits: "acceptEdits",
  listed: "dontAsk",
  auto: "auto",
};

export async function openSession(options: SessionOptions, executable: string | undefined): Promise<AgentSession> {
  const session = new ClaudeSession(options);
  await session.start(executable);
  return session;
}

class ClaudeSession implements AgentSession {
  readonly #options: SessionOptions;
  readonly #prompts = new PromptQueue<SDKUserMessage>();
  readonly #stream: ClaudeStream;
  #query: Query | undefined;
  #onlySegnoTools = false;
  #oursCalled = false;
  #stopWhy: StopWhy | undefined;
  #turn: { resolve(end: TurnEnd): void } | undefined;
  #result: TurnEnd | undefined;
  #gone: TurnEnd | undefined;
  #facts: Promise<void> | undefined;
  #stderr = "";
  #pump: Promise<void> | undefined;
  #trouble: Trouble = { error: undefined, until: undefined };

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#stream = new ClaudeStream(options.handlers.observe);
  }

  async start(executable: string | undefined): Promise<void> {
    const { query } = await import("@anthropic-ai/claude-agent-sdk");
    this.#query = query({ prompt: this.#prompts, options: this.#queryOptions(executable) });
    this.#pump = this.#consume(this.#query);
  }

  send(prompt: string, { onlySegnoTools } = { onlySegnoTools: false }): Promise<TurnEnd> {
    if (this.#gone !== undefined) return Promise.resolve(this.#gone);
    this.#onlySegnoTools = onlySegnoTools;
    this.#stopWhy = undefined;
    this.#oursCalled = false;
    this.#result = undefined;
    this.#trouble = { error: undefined, until: undefined };
    this.#stream.prompted(prompt);
    const ended = new Promise<TurnEnd>((resolve) => {
      this.#turn = { resolve };
    });
    this.#prompts.push({
      type: "user",
      message: { role: "user", content: prompt },
      parent_tool_use_id: null,
      session_id: "",
    });
    return ended;
  }

  async close(): Promise<number> {
    this.#prompts.end();
    // Closing its input lets the agent write its transcript to the end; what is left after that is swept.
    await settled(SETTLE_MS, this.#pump);
    this.#query?.close();
    return sweep((marker) => marker === this.#options.marker);
  }

  #queryOptions(executable: string | undefined): Options {
    const options = this.#options;
    const model = options.model ?? (options.isolated ? REHEARSAL_MODEL : undefined);
    const server = mcpServer(
      noticed(options.tools, () => {
        this.#oursCalled = true;
      }),
    );
    return {
      cwd: options.cwd,
      env: sessionEnv(options),
      ...(model === undefined ? {} : { model }),
      ...(options.resume === undefined ? {} : { resume: options.resume }),
      ...(executable === undefined ? {} : { pathToClaudeCodeExecutable: executable }),
      permissionMode: MODES[options.permissions],
      allowDangerouslySkipPermissions: options.permissions === "all",
      permissionPrompts: "none",
      settingSources: options.isolated ? [] : ["user", "project", "local"],
      strictMcpConfig: options.isolated,
      systemPrompt: { type: "preset", preset: "claude_code" },
      includePartialMessages: true,
      // Without it a sub-agent's last call is never shown, and its cost would be missing.
      forwardSubagentText: true,
      disallowedTools: [...NEVER, ...(options.readOnly ? EDITING : []), ...options.deniedTools],
      allowedTools: [...options.tools.list.map((tool) => toolName(tool.name)), ...options.allowedTools],
      ...(options.sandbox ? { sandbox: { enabled: true } } : {}),
      // The SDK's type names the high-level server; it only ever calls `connect`, which the plain one has too.
      mcpServers: { [SERVER_NAME]: { type: "sdk", name: SERVER_NAME, instance: server as unknown as McpServer } },
      hooks: {
        PreToolUse: [{ hooks: [async (input) => this.#beforeTool(input as BeforeTool)] }],
        PostToolBatch: [{ hooks: [async (input) => this.#afterTools(input as unknown as ToolBatch)] }],
        PreCompact: [{ hooks: [async () => (options.handlers.mayCompact() ? {} : { decision: "block" as const })] }],
      },
      spawnClaudeCodeProcess: ({ command, args, cwd, env, signal }) => {
        // Its own session: a Ctrl-C at the terminal is for Segno, which then ends the agent cleanly.
        const [program, leading] = diesWithParent(command);
        const stdio: ["pipe", "pipe", "pipe"] = ["pipe", "pipe", "pipe"];
        const child = spawn(program, [...leading, ...args], { cwd, env, signal, stdio, detached: true });
        if (child.pid !== undefined) options.handlers.spawned(child.pid);
        child.stderr.on("data", (data: Buffer) => {
          this.#stderr = (this.#stderr + data.toString()).slice(-4_000);
        });
        child.on("error", () => {});
        return child;
      },
    };
  }

  async #beforeTool({ tool_name, tool_use_id, agent_id }: BeforeTool) {
    if (isOurs(tool_name)) return {};
    const answer = this.#onlySegnoTools ? ONLY_SEGNO_TOOLS : await this.#begins(tool_name, tool_use_id, agent_id);
    if (answer === undefined) return {};
    return {
      hookSpecificOutput: {
        hookEventName: "PreToolUse" as const,
        permissionDecision: "deny" as const,
        permissionDecisionReason: answer,
      },
    };
  }

  /** Only after one of our tools, in the same batch, anything can have changed that is said here. */
  async #begins(name: string, id: string, agent: string | undefined): Promise<string | undefined> {
    if (agent !== undefined || !this.#oursCalled) return undefined;
    await this.#stream.hasCalled(id, SETTLE_MS);
    return this.#options.handlers.begins(toolKind(name));
  }

  async #afterTools(batch: ToolBatch) {
    if (batch.agent_id !== undefined) return {};
    await this.#stream.hasSeen(
      batch.tool_calls.map((call) => call.tool_use_id),
      SETTLE_MS,
    );
    this.#oursCalled = false;
    await this.#facts;
    const decision = await this.#options.handlers.boundary();
    if (!decision.stop) {
      if (decision.tell === undefined) return {};
      return { hookSpecificOutput: { hookEventName: "PostToolBatch" as const, additionalContext: decision.tell } };
    }
    this.#stopWhy = decision.why;
    return { continue: false, stopReason: `Segno ends the turn here (${decision.why}).` };
  }

  async #consume(messages: Query): Promise<void> {
    let end: TurnEnd = { type: "crashed", message: "the agent's process ended" };
    try {
      for await (const message of messages) this.#take(message, messages);
    } catch (error) {
      end = { type: "crashed", message: this.#lastWords(error) };
    }
    // A full window throws after its result: the result says more than the exception. Between turns there is none.
    this.#gone = this.#turn === undefined ? end : (this.#result ?? end);
    this.#settle();
  }

  #take(message: SDKMessage, messages: Query): void {
    this.#stream.take(message);
    if (message.type === "system" && message.subtype === "init") this.#facts ??= this.#learn(messages, message);
    this.#noteTrouble(message);
    if (message.type === "result") this.#result = turnEnd(message, this.#stopWhy, this.#trouble);
    if (this.#stream.idle) this.#settle();
  }

  /** What went wrong, where the result message does not say it all. */
  #noteTrouble(message: SDKMessage): void {
    if (message.type === "assistant" && message.parent_tool_use_id === null && message.error !== undefined)
      this.#trouble.error = message.error;
    if (message.type === "rate_limit_event") {
      const { status, resetsAt } = message.rate_limit_info;
      this.#trouble.until = status === "rejected" && resetsAt !== undefined ? new Date(resetsAt * 1_000) : undefined;
    }
    if (message.type === "system" && message.subtype === "api_retry") {
      const kind = failedKind(message.error, message.error_status);
      const what = String(message.error_status ?? message.error);
      const text = kind === "auth" ? `the login is refused (${what})` : what;
      if (this.#options.handlers.givesUp({ attempt: message.attempt, kind, message: text }))
        this.#result = { type: "failed", kind, message: text };
    }
  }

  #settle(): void {
    const end = this.#result ?? this.#gone;
    if (end === undefined || this.#turn === undefined) return;
    const { resolve } = this.#turn;
    this.#turn = undefined;
    // The window's size is known a moment after the start: a turn without any tool call may be faster.
    void (this.#facts ?? Promise.resolve()).then(() => resolve(end));
  }

  async #learn(messages: Query, init: { session_id: string; model: string }): Promise<void> {
    const { observe } = this.#options.handlers;
    observe({ type: "ready", agentSession: init.session_id, model: init.model });
    const usage = await messages.getContextUsage({ detail: "summary" }).catch(() => undefined);
    observe({
      type: "window",
      window: usage?.rawMaxTokens ?? usage?.maxTokens ?? 0,
      compactAt: usage?.isAutoCompactEnabled ? usage.autoCompactThreshold : undefined,
    });
  }

  #lastWords(error: unknown): string {
    const said = error instanceof Error ? error.message : String(error);
    return this.#stderr.trim() === "" ? said : `${said}\n${this.#stderr.trim()}`;
  }
}

interface BeforeTool {
  tool_name: string;
  tool_use_id: string;
  agent_id?: string;
}

interface ToolBatch {
  agent_id?: string;
  tool_calls: { tool_use_id: string }[];
}

function sessionEnv(options: SessionOptions): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.env)) {
    if (!ENCLOSING.test(name)) env[name] = value;
  }
  return {
    ...env,
    [MARKER]: options.marker,
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    // Switched off, not only vetoed: the whole window can be used.
    ...(options.compacts ? {} : { DISABLE_AUTO_COMPACT: "1" }),
  };
}

interface Trouble {
  error: SDKAssistantMessageError | undefined;
  /** When a limit that was reached is lifted. */
  until: Date | undefined;
}

function turnEnd(
  message: Extract<SDKMessage, { type: "result" }>,
  stopWhy: StopWhy | undefined,
  { error, until }: Trouble,
): TurnEnd {
  const text = "result" in message ? message.result : message.errors.join("; ");
  switch (message.terminal_reason) {
    case "hook_stopped":
      return stopWhy === undefined
        ? { type: "failed", kind: "other", message: `a hook of the user's settings stopped the agent: ${text}` }
        : { type: "stopped", why: stopWhy };
    case "prompt_too_long":
      return { type: "too-long", window: windowIn(text) };
    case "completed":
    case undefined:
      return message.is_error ? { type: "failed", kind: "other", message: text } : { type: "finished" };
    case "api_error":
    case "model_error":
    case "blocking_limit": {
      const status = "api_error_status" in message ? message.api_error_status : undefined;
      if (until !== undefined || isLimitText(text)) {
        const lifted = until ?? resetOf(text, new Date());
        return { type: "failed", kind: "limit", message: text, until: lifted?.toISOString() };
      }
      return { type: "failed", kind: failedKind(error, status), message: text };
    }
    default:
      return { type: "failed", kind: "other", message: `${message.terminal_reason}: ${text}` };
  }
}
