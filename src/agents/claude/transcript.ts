/**
 * Claude Code's transcripts and captured stream-json, line by line → calls, readings, and what other ways of counting
 * would have said. Keeps figures only, so a file of any size needs little memory.
 */

import type { Predicted } from "../../context/evaluate.js";
import { type Meter, type MeterInput, meter, newMeter, readMeter } from "../../context/meter.js";
import type { ContentKind } from "../../context/ratios.js";
import type { WorkedCall } from "../../context/what-if.js";
import type { Usage } from "../../run/event.js";
import { sizeOf } from "../content-size.js";
import { Baselines } from "./rival-counts.js";
import { contentKind, toolName } from "./tools.js";

const BOOKKEEPING = /^(prompt_snapshot|hook_|environment$|model$)/;

interface Line {
  type?: string;
  subtype?: string;
  isSidechain?: boolean;
  parent_tool_use_id?: string | null;
  isMeta?: boolean;
  isCompactSummary?: boolean;
  isApiErrorMessage?: boolean;
  attachment?: unknown;
  event?: { type?: string; usage?: { output_tokens?: number } };
  compactMetadata?: { preTokens?: number };
  compact_metadata?: { pre_tokens?: number; post_tokens?: number };
  microcompactMetadata?: { tokensSaved?: number };
  message?: {
    id?: string;
    role?: string;
    model?: string;
    stop_reason?: string | null;
    content?: unknown;
    usage?: {
      input_tokens?: number;
      cache_read_input_tokens?: number;
      cache_creation_input_tokens?: number;
      output_tokens?: number;
    };
  };
}

interface Block {
  type?: string;
  id?: string;
  name?: string;
  text?: string;
  thinking?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
}

const blocksOf = (content: unknown): Block[] =>
  Array.isArray(content) ? content.filter((block): block is Block => typeof block === "object" && block !== null) : [];

const NOTHING: Predicted["expected"] = {};

/** A commit, a finished point of a list, a report to Segno. */
function finishes({ name = "", input }: Block): boolean {
  const text = JSON.stringify(input ?? {});
  if (name === "Bash") return /\bgit\b[^"]*\bcommit\b/.test(text);
  return /^(TodoWrite|TaskUpdate)$/.test(name) ? text.includes('"completed"') : name === toolName("progress");
}

export class TranscriptMeter {
  readonly #foresees: boolean;
  #meter: Meter = newMeter();
  /** The newest main-thread call: its lines share one message id. */
  #call: string | undefined;
  #output = 0;
  readonly #tools = new Map<string, string>();
  readonly #seenCalls = new Set<string>();
  #appended = 0;
  readonly #others = new Baselines();

  readonly calls: Predicted[] = [];
  /** Each call of the main thread with what it used, for what-if. */
  readonly worked: (WorkedCall & { model: string })[] = [];
  /** Something was finished since the last call, or its context was compacted. */
  #finished = false;
  #wasCompacted = false;
  readonly models = new Set<string>();
  readonly usage = new Map<string, Usage>();
  compactions: number[] = [];
  subagentCalls = 0;

  /** `foresees`: keep what each way of counting expected before each call; without it only the truth is kept. */
  constructor({ foresees } = { foresees: true }) {
    this.#foresees = foresees;
  }

  take(value: unknown): void {
    const line = value as Line;
    if (typeof line !== "object" || line === null) return;
    const sub =
      line.isSidechain === true || (line.parent_tool_use_id !== undefined && line.parent_tool_use_id !== null);
    if (line.type === "assistant") this.#assistant(line, sub);
    else if (sub) return;
    else if (line.type === "stream_event") this.#streamed(line.event);
    else if (line.type === "user") this.#user(line);
    else if (line.type === "attachment") this.#attachment(line.attachment);
    else if (line.type === "system" && line.subtype === "compact_boundary")
      this.#compacted(line.compact_metadata?.post_tokens);
    else if (line.type === "system" && line.subtype === "microcompact_boundary")
      this.#feed({ type: "shrunk", saved: line.microcompactMetadata?.tokensSaved ?? 0 });
  }

  /** With partial messages the true output count comes at the end of a call. */
  #streamed(event: Line["event"]): void {
    const output = event?.usage?.output_tokens;
    if (event?.type !== "message_delta" || output === undefined || this.#call === undefined) return;
    this.#feed({ type: "call-finished", id: this.#call, output });
  }

  /** What the client adds to a prompt; some of it is only its own bookkeeping. */
  #attachment(attachment: unknown): void {
    const { type } = (attachment ?? {}) as { type?: string };
    if (type === undefined || BOOKKEEPING.test(type)) return;
    this.#append("attachment", { ...sizeOf(attachment), images: 0 }, false);
  }

  #compacted(after: number | undefined): void {
    this.compactions.push(this.calls.length);
    this.#wasCompacted = true;
    this.#call = undefined;
    this.#feed({ type: "compacted", after });
  }

  #assistant({ message, isApiErrorMessage }: Line, sub: boolean): void {
    const { id, model, usage, content, stop_reason } = message ?? {};
    if (
      id === undefined ||
      model === undefined ||
      usage === undefined ||
      model === "<synthetic>" ||
      isApiErrorMessage === true
    )
      return;
    const counted: Usage = {
      input: usage.input_tokens ?? 0,
      cacheRead: usage.cache_read_input_tokens ?? 0,
      cacheWrite: usage.cache_creation_input_tokens ?? 0,
      output: usage.output_tokens ?? 0,
    };
    const prompt = counted.input + counted.cacheRead + counted.cacheWrite;
    if (sub) {
      if (!this.#seenCalls.has(id)) this.subagentCalls++;
      this.#count(id, model, counted);
      return;
    }
    if (prompt === 0) {
      // A call without usage: the truth is not known, but what it said is in the next prompt.
      this.#feed({ type: "call-started", id, model, prompt });
      this.#said(id, content);
      return;
    }
    if (this.#call !== id) {
      if (this.#seenCalls.has(id)) return;
      this.#began(id, model, prompt, counted);
    }
    this.#count(id, model, counted);
    this.#said(id, content);
    // Early lines of a call carry a placeholder; a stop reason says that the count is final.
    const output = Math.max(this.#output, counted.output);
    this.#output = output;
    const worked = this.worked.at(-1);
    if (worked !== undefined) worked.usage.output = output;
    if (stop_reason !== null && stop_reason !== undefined && output > 1)
      this.#feed({ type: "call-finished", id, output });
  }

  #began(id: string, model: string, prompt: number, usage: Usage): void {
    this.models.add(model);
    this.calls.push({ expected: this.#foresees ? this.#expectations() : NOTHING, truth: prompt });
    this.#feed({ type: "call-started", id, model, prompt });
    this.#call = id;
    this.#output = 0;
    this.worked.push({ usage: { ...usage }, natural: this.#finished, compacted: this.#wasCompacted, model });
    this.#finished = false;
    this.#wasCompacted = false;
    this.#others.called(usage);
  }

  /** Before a call: what each way of counting says about its prompt. */
  #expectations(): Predicted["expected"] {
    const { source, tokens } = readMeter(this.#meter);
    return { segno: source === "exact" || source === "anchored" ? tokens : undefined, ...this.#others.expected };
  }

  #said(id: string, content: unknown): void {
    const said = { text: 0, thinking: 0, toolInput: 0, toolCalls: 0 };
    for (const block of blocksOf(content)) {
      if (block.type === "text") said.text += block.text?.length ?? 0;
      else if (block.type === "thinking") said.thinking += block.thinking?.length ?? 0;
      else if (block.type === "tool_use") {
        said.toolInput += JSON.stringify(block.input ?? {}).length;
        said.toolCalls++;
        if (block.id !== undefined) this.#tools.set(block.id, block.name ?? "");
        this.#finished ||= finishes(block);
      }
    }
    this.#others.said(said.text + said.toolInput);
    this.#feed({ type: "call-content", id, ...said });
  }

  #user({ message, isMeta, isCompactSummary }: Line): void {
    const kind: ContentKind = isCompactSummary === true ? "summary" : isMeta === true ? "meta" : "user";
    const content = message?.content;
    if (typeof content === "string") {
      this.#finished ||= kind === "user";
      return this.#append(kind, sizeOf(content), false);
    }
    for (const block of blocksOf(content)) {
      if (block.type !== "tool_result") {
        this.#finished ||= kind === "user";
        this.#append(kind, sizeOf([block]), false);
        continue;
      }
      const tool = contentKind(this.#tools.get(block.tool_use_id ?? "") ?? "");
      this.#tools.delete(block.tool_use_id ?? "");
      this.#append(tool, sizeOf(block.content), true);
    }
  }

  #append(kind: ContentKind, { chars, images }: { chars: number; images: number }, isResult: boolean): void {
    this.#others.appended(kind === "read" ? "reads" : isResult ? "outputs" : "prompts", chars);
    this.#feed({ type: "appended", key: String(++this.#appended), kind, chars, images, isResult });
  }

  #feed(input: MeterInput): void {
    this.#meter = meter(this.#meter, input);
  }

  /** Each call once, with the largest counts its lines showed. */
  #count(id: string, model: string, usage: Usage): void {
    const sum = this.usage.get(model) ?? { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
    this.usage.set(model, sum);
    if (!this.#seenCalls.has(id)) {
      this.#seenCalls.add(id);
      sum.input += usage.input;
      sum.cacheRead += usage.cacheRead;
      sum.cacheWrite += usage.cacheWrite;
      sum.output += usage.output;
      this.#counted = usage.output;
    } else if (usage.output > this.#counted) {
      sum.output += usage.output - this.#counted;
      this.#counted = usage.output;
    }
  }
  #counted = 0;
}
