/**
 * What an ACP agent tells of a turn → observations.
 *
 * Nothing in the protocol says where a model call begins or ends. What is said and called between two moments at which no
 * tool runs is taken for one call; its words are reported before the first of its results. How full the window is comes from
 * `usage_update` where there is one, and is estimated where there is none.
 */

import type { Usage } from "../../run/event.js";
import type { Observation } from "../agent.js";
import { sizeOf } from "../content-size.js";
import { fingerprint } from "../fingerprint.js";
import { isObject } from "../is-object.js";
import { briefOf, contentKind, isOk, isOver, kindOf, nameOf, type ToolCall } from "./tools.js";

interface Call {
  text: number;
  thinking: number;
  toolInput: number;
  toolCalls: number;
}

/** What an agent writes down of a conversation, where it does: exact, and complete before its next call. */
export interface AgentRecord {
  /** Calls that were counted since it was last asked. */
  newCalls(): { model: string; usage: Usage }[];
  /** What a tool brought, as its model sees it. */
  resultOf(id: string): { chars: number; ok: boolean } | undefined;
}

const NOTHING: Call = { text: 0, thinking: 0, toolInput: 0, toolCalls: 0 };

export class Updates {
  readonly #observe: (observation: Observation) => void;
  readonly #record: AgentRecord | undefined;
  /** Tools that ended and are reported when the record has them. */
  readonly #held: ToolCall[] = [];
  readonly #open = new Map<string, ToolCall>();
  readonly #done = new Set<string>();
  #call: Call = { ...NOTHING };
  #calls = 0;
  #prompts = 0;
  #said = "";
  #window = 0;
  /** What it says is in the window, since the last call. */
  #used = 0;
  model = "";
  /** Tools that ended since the last boundary. */
  tools = 0;
  /** Whether it said or did anything in this turn. */
  acted = false;

  constructor(observe: (observation: Observation) => void, record?: AgentRecord) {
    this.#observe = observe;
    this.#record = record;
  }

  prompted(text: string): void {
    this.tools = 0;
    this.acted = false;
    // What an earlier turn left open will not end any more.
    this.#open.clear();
    const key = `prompt-${++this.#prompts}`;
    const input = { type: "appended" as const, key, kind: "user" as const, chars: text.length, isResult: false };
    this.#observe({ type: "meter", input });
  }

  /** What is known of a tool call that it names. */
  known(told: Record<string, unknown>): ToolCall {
    const id = String(told.toolCallId ?? "");
    const given = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null));
    return { ...this.#open.get(id), ...given, toolCallId: id };
  }

  get isWorking(): boolean {
    return this.#open.size > 0;
  }

  /** Whatever is not understood is a sign of life. */
  take(update: unknown): void {
    if (!isObject(update)) return;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#chunk(update.content, "text");
      case "agent_thought_chunk":
        return this.#chunk(update.content, "thinking");
      case "tool_call":
      case "tool_call_update":
        return this.#tool(update);
      case "usage_update":
        return this.#usage(Number(update.used), Number(update.size));
      default:
        return;
    }
  }

  /** Everything that was said and called so far belongs to a call that is over. */
  flush(): void {
    if (this.#said !== "") this.#observe({ type: "said", text: this.#said });
    this.#said = "";
    if (this.#record !== undefined) {
      this.#call = { ...NOTHING };
      for (const counted of this.#record.newCalls()) this.#counted(counted);
      for (const tool of this.#held.splice(0)) this.#report(tool);
      return;
    }
    const call = this.#call;
    if (call.text + call.thinking + call.toolCalls === 0) return;
    this.#call = { ...NOTHING };
    const id = `call-${++this.#calls}`;
    const { model } = this;
    const prompt = this.#used;
    this.#used = 0;
    this.#observe({ type: "meter", input: { type: "call-started", id, model, prompt } });
    this.#observe({ type: "meter", input: { type: "call-content", id, ...call } });
    const usage = { input: prompt, cacheRead: 0, cacheWrite: 0, output: 0 };
    this.#observe({ type: "call", id, model, usage, subagent: false });
  }

  #counted({ model, usage }: ReturnType<AgentRecord["newCalls"]>[number]): void {
    const id = `call-${++this.#calls}`;
    const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
    this.#observe({ type: "meter", input: { type: "call-started", id, model, prompt } });
    this.#observe({ type: "meter", input: { type: "call-finished", id, output: usage.output } });
    this.#observe({ type: "call", id, model, usage, subagent: false });
  }

  /** How many calls were reported. */
  get calls(): number {
    return this.#calls;
  }

  #chunk(content: unknown, kind: "text" | "thinking"): void {
    const text = isObject(content) && typeof content.text === "string" ? content.text : "";
    this.acted = true;
    this.#call[kind] += text.length;
    if (kind === "text") this.#said += text;
  }

  #tool(update: Record<string, unknown>): void {
    const { toolCallId: id } = update;
    if (typeof id !== "string" || this.#done.has(id)) return;
    this.acted = true;
    const isNew = !this.#open.has(id);
    const call = this.known(update);
    this.#open.set(id, call);
    if (isNew) {
      this.#call.toolCalls++;
      this.#observe({ type: "tool-started", id });
    }
    if (isOver(call)) this.#finished(call);
  }

  #finished(call: ToolCall): void {
    const { toolCallId: id, rawInput } = call;
    this.#open.delete(id);
    this.#done.add(id);
    this.tools++;
    if (this.#record !== undefined) {
      this.#held.push(call);
      return;
    }
    this.#call.toolInput += sizeOf(rawInput).chars;
    this.flush();
    this.#report(call);
  }

  #report(call: ToolCall): void {
    const { toolCallId: id, rawInput, rawOutput, content } = call;
    const known = this.#record?.resultOf(id);
    const shown = sizeOf(content);
    const { chars, images } = shown.chars + shown.images > 0 ? shown : sizeOf(rawOutput);
    const kind = kindOf(call);
    const input = {
      type: "appended" as const,
      key: id,
      kind: contentKind(call),
      chars: known?.chars ?? chars,
      images,
      isResult: true,
    };
    this.#observe({ type: "meter", input });
    this.#observe({
      type: "tool",
      id,
      kind,
      name: nameOf(call),
      brief: briefOf(call),
      ok: isOk(call) && known?.ok !== false,
      subagent: false,
      call: fingerprint([call.title, rawInput]),
      result: fingerprint(content ?? rawOutput),
      edit:
        kind === "edit" ? { file: call.locations?.[0]?.path ?? briefOf(call), to: fingerprint(content) } : undefined,
    });
  }

  #usage(used: number, size: number): void {
    if (size > 0 && size !== this.#window) {
      this.#window = size;
      this.#observe({ type: "window", window: size, compactAt: undefined });
    }
    if (used > 0) this.#used = used;
  }
}
