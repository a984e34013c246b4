/**
 * opencode's messages → observations. A message is reported when it is over, and then whole: its usage first, its tools
 * after it, in the order in which the model called them.
 */

import type { Usage } from "../../run/event.js";
import type { Observation } from "../agent.js";
import { sizeOf } from "../content-size.js";
import { fingerprint } from "../fingerprint.js";
import { firstLine } from "../first-line.js";
import type { OpencodeError } from "./errors.js";
import { contentKind, plainName, TASK, toolKind } from "./tools.js";

export interface Tokens {
  input: number;
  output: number;
  reasoning: number;
  cache: { read: number; write: number };
}

export interface MessageInfo {
  id: string;
  role: string;
  modelID?: string;
  summary?: unknown;
  tokens?: Tokens;
  finish?: string;
  error?: OpencodeError;
  time?: { created?: number; completed?: number };
}

export interface Part {
  id: string;
  type: string;
  text?: string;
  synthetic?: boolean;
  callID?: string;
  tool?: string;
  state?: {
    status: string;
    input?: Record<string, unknown>;
    output?: string;
    error?: string;
    metadata?: { exit?: number | null; sessionId?: string; sessionID?: string };
  };
}

export interface Message {
  info: MessageInfo;
  parts: Part[];
}

/** No more of an output reaches the model. */
const MOST_OUTPUT = 51_200;

const usageOf = ({ input, output, reasoning, cache }: Tokens): Usage => ({
  input,
  cacheRead: cache.read,
  cacheWrite: cache.write,
  output: output + reasoning,
});

/** Whether the model has answered and all its tools have ended. */
export const isOver = ({ info, parts }: Message): boolean =>
  info.role === "assistant" &&
  info.time?.completed !== undefined &&
  parts.every(({ type, state }) => type !== "tool" || state?.status === "completed" || state?.status === "error");

/** Undefined where the model did not answer. */
function usageIn({ tokens }: MessageInfo): Usage | undefined {
  const usage = tokens === undefined ? undefined : usageOf(tokens);
  return usage !== undefined && usage.input + usage.output + usage.cacheRead + usage.cacheWrite > 0 ? usage : undefined;
}

export class MessageStream {
  readonly #observe: (observation: Observation) => void;
  readonly #seen = new Set<string>();
  #prompts = 0;
  /** Tools that ended since the last boundary. */
  tools = 0;

  constructor(observe: (observation: Observation) => void) {
    this.#observe = observe;
  }

  prompted(text: string): void {
    const key = `prompt-${++this.#prompts}`;
    this.#observe({
      type: "meter",
      input: { type: "appended", key, kind: "user", chars: text.length, isResult: false },
    });
  }

  /** What was there before the session is not reported. */
  skip(messages: readonly Message[]): void {
    for (const { info } of messages) this.#seen.add(info.id);
  }

  /** Reports what is over and was not reported; the sessions of sub-agents that worked in it. */
  take(messages: readonly Message[]): string[] {
    const subagents: string[] = [];
    for (const message of messages) {
      if (!isOver(message) || this.#seen.has(message.info.id)) continue;
      this.#seen.add(message.info.id);
      this.#call(message.info, false);
      for (const part of message.parts) {
        if (part.type === "text" && part.synthetic !== true && (part.text ?? "") !== "")
          this.#observe({ type: "said", text: part.text ?? "" });
        if (part.type !== "tool") continue;
        this.#tool(part);
        const { sessionId, sessionID = sessionId } = part.state?.metadata ?? {};
        if (part.tool === TASK && sessionID !== undefined) subagents.push(sessionID);
      }
    }
    return subagents;
  }

  /** Calls of a sub-agent: they cost, and are in no window of ours. */
  takeSubagent(messages: readonly Message[]): void {
    for (const message of messages) {
      if (!isOver(message) || this.#seen.has(message.info.id)) continue;
      this.#seen.add(message.info.id);
      this.#call(message.info, true);
    }
  }

  #call(info: MessageInfo, subagent: boolean): void {
    const usage = usageIn(info);
    if (usage === undefined) return;
    const { id, modelID: model = "" } = info;
    const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
    if (!subagent) {
      if (info.summary === true) {
        this.#observe({ type: "meter", input: { type: "compacted" } });
        this.#observe({ type: "compacted", before: prompt, after: undefined });
      } else {
        this.#observe({ type: "meter", input: { type: "call-started", id, model, prompt } });
        this.#observe({ type: "meter", input: { type: "call-finished", id, output: usage.output } });
      }
    }
    this.#observe({ type: "call", id, model, usage, subagent });
  }

  #tool({ id: part, callID: id = part, tool: name = "", state }: Part): void {
    const output = state?.output ?? state?.error ?? "";
    const input = state?.input ?? {};
    const chars = Math.min(sizeOf(output).chars, MOST_OUTPUT);
    const exit = state?.metadata?.exit;
    this.tools++;
    this.#observe({
      type: "meter",
      input: { type: "appended", key: id, kind: contentKind(name), chars, isResult: true },
    });
    this.#observe({
      type: "tool",
      id,
      kind: toolKind(name),
      name: plainName(name),
      brief: briefOf(input),
      ok: state?.status === "completed" && (exit === undefined || exit === 0),
      subagent: false,
      call: fingerprint([name, input]),
      result: fingerprint(output),
      edit: toolKind(name) === "edit" ? { file: String(input.filePath ?? ""), to: fingerprint(input) } : undefined,
    });
  }
}

function briefOf({ command, filePath, pattern, url, description, message }: Record<string, unknown>): string {
  return firstLine(command ?? filePath ?? pattern ?? url ?? description ?? message);
}
