/** Claude Code's message stream → observations. Knows which tool calls it has seen whole, and whether all is quiet. */
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import type { MeterInput } from "../../context/meter.js";
import type { Usage } from "../../run/event.js";
import type { Observation } from "../agent.js";
import { sizeOf } from "../content-size.js";
import { fingerprint } from "../fingerprint.js";
import { briefOf } from "./brief.js";
import { contentKind, plainName, toolKind } from "./tools.js";

interface Call {
  model: string;
  usage: Usage;
  final: boolean;
}

interface ToolCall {
  call: Call;
  name: string;
  brief: string;
  hash: string;
  edit: { file: string; to: string } | undefined;
}

interface ApiUsage {
  input_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  output_tokens?: number | null;
}

export class ClaudeStream {
  readonly #observe: (observation: Observation) => void;
  /** The call that is being streamed on the main thread. */
  #current: { id: string; call: Call } | undefined;
  readonly #callOfTool = new Map<string, ToolCall>();
  readonly #results = new Set<string>();
  readonly #subagentCalls = new Set<string>();
  #backgroundTasks = 0;
  #prompts = 0;
  #waiters: (() => void)[] = [];

  constructor(observe: (observation: Observation) => void) {
    this.#observe = observe;
  }

  get idle(): boolean {
    return this.#backgroundTasks === 0;
  }

  /** A prompt that was sent: the stream does not repeat it, but the next call carries it. */
  prompted(text: string): void {
    this.#append({ key: `prompt-${++this.#prompts}`, kind: "user", chars: text.length, isResult: false });
  }

  /** Resolves when these tool calls, their results and their call's final usage were seen, or the time is up. */
  hasSeen(toolUses: readonly string[], limitMs: number): Promise<void> {
    return this.#until(() => toolUses.every((id) => this.#results.has(id) && this.#isFinal(id)), limitMs);
  }

  /** Resolves when this tool call and its call's final usage were seen, or the time is up. */
  hasCalled(toolUse: string, limitMs: number): Promise<void> {
    return this.#until(() => this.#isFinal(toolUse), limitMs);
  }

  #isFinal(toolUse: string): boolean {
    return this.#callOfTool.get(toolUse)?.call.final === true;
  }

  async #until(seen: () => boolean, limitMs: number): Promise<void> {
    const until = Date.now() + limitMs;
    while (!seen() && Date.now() < until) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, until - Date.now());
        this.#waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  take(message: SDKMessage): void {
    this.#observe({ type: "alive" });
    switch (message.type) {
      case "stream_event":
        if (message.parent_tool_use_id === null) this.#streamed(message.event);
        break;
      case "assistant":
        this.#assistant(message);
        break;
      case "user":
        this.#user(message);
        break;
      case "system":
        if (message.subtype === "background_tasks_changed") {
          this.#backgroundTasks = message.tasks.filter((task) => task.ambient !== true).length;
        }
        // While only ours may be used, others are refused by us.
        if (message.subtype === "permission_denied" && message.decision_reason_type !== "hook") {
          const why = message.decision_reason ?? message.message;
          this.#observe({ type: "refused", tool: plainName(message.tool_name), why: why.slice(0, 300) });
        }
        if (message.subtype === "compact_boundary") {
          const { pre_tokens, post_tokens } = message.compact_metadata;
          this.#observe({ type: "meter", input: { type: "compacted", after: post_tokens } });
          this.#observe({ type: "compacted", before: pre_tokens, after: post_tokens });
        }
        break;
      default:
        break;
    }
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #streamed(event: Extract<SDKMessage, { type: "stream_event" }>["event"]): void {
    if (event.type === "message_start") {
      const { id, model, usage } = event.message;
      this.#current = { id, call: { model, usage: usageOf(usage), final: false } };
      this.#started(id, this.#current.call);
    } else if (event.type === "message_delta" && this.#current !== undefined) {
      const { id, call } = this.#current;
      call.usage = { ...call.usage, output: event.usage.output_tokens };
      call.final = true;
      this.#observe({ type: "meter", input: { type: "call-finished", id, output: event.usage.output_tokens } });
      this.#observe({ type: "call", id, model: call.model, usage: call.usage, subagent: false });
    }
  }

  #started(id: string, call: Call): void {
    const prompt = call.usage.input + call.usage.cacheRead + call.usage.cacheWrite;
    this.#observe({ type: "meter", input: { type: "call-started", id, model: call.model, prompt } });
  }

  #assistant(message: Extract<SDKMessage, { type: "assistant" }>): void {
    const { id, model, content, usage } = message.message;
    const subagent = message.parent_tool_use_id !== null;
    if (model === "<synthetic>") return;
    if (!subagent && this.#current?.id !== id) {
      this.#current = { id, call: { model, usage: usageOf(usage), final: false } };
      this.#started(id, this.#current.call);
    }
    const call =
      subagent || this.#current === undefined ? { model, usage: usageOf(usage), final: true } : this.#current.call;
    const said = { text: 0, thinking: 0, toolInput: 0, toolCalls: 0 };
    for (const block of content) {
      if (block.type === "text") {
        said.text += block.text.length;
        if (!subagent) this.#observe({ type: "said", text: block.text });
      } else if (block.type === "thinking") said.thinking += block.thinking.length;
      else if (block.type === "tool_use") {
        said.toolInput += JSON.stringify(block.input).length;
        said.toolCalls++;
        const { name, input } = block;
        const traced = { hash: fingerprint([name, input]), edit: editOf(name, input) };
        this.#callOfTool.set(block.id, { call, name, brief: briefOf(name, input), ...traced });
        this.#observe({ type: "tool-started", id: block.id });
      }
    }
    if (!subagent) this.#observe({ type: "meter", input: { type: "call-content", id, ...said } });
    else if (!this.#subagentCalls.has(id)) {
      this.#subagentCalls.add(id);
      this.#observe({ type: "call", id, model, usage: call.usage, subagent: true });
    }
  }

  #user(message: Extract<SDKMessage, { type: "user" }>): void {
    if (typeof message.message.content === "string") return;
    const subagent = message.parent_tool_use_id !== null;
    for (const block of message.message.content) {
      if (block.type !== "tool_result") continue;
      const id = block.tool_use_id;
      const tool = this.#callOfTool.get(id);
      const name = tool?.name ?? "?";
      if (!subagent) this.#append({ key: id, kind: contentKind(name), ...sizeOf(block.content), isResult: true });
      this.#observe({
        type: "tool",
        id,
        kind: toolKind(name),
        name: plainName(name),
        brief: tool?.brief ?? "",
        ok: block.is_error !== true,
        subagent,
        call: tool?.hash ?? "",
        result: fingerprint(block.content),
        edit: tool?.edit,
      });
      this.#results.add(id);
    }
  }

  #append(appended: Omit<Extract<MeterInput, { type: "appended" }>, "type">): void {
    this.#observe({ type: "meter", input: { type: "appended", ...appended } });
  }
}

function editOf(name: string, input: unknown): { file: string; to: string } | undefined {
  if (toolKind(name) !== "edit") return undefined;
  const { file_path, notebook_path, ...what } = input as Record<string, unknown>;
  const { old_string: _, ...to } = what;
  return { file: String(file_path ?? notebook_path ?? ""), to: fingerprint(to) };
}

const usageOf = (usage: ApiUsage): Usage => ({
  input: usage.input_tokens ?? 0,
  cacheRead: usage.cache_read_input_tokens ?? 0,
  cacheWrite: usage.cache_creation_input_tokens ?? 0,
  output: usage.output_tokens ?? 0,
});
