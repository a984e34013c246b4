/** Copilot's events → observations. A call's usage is told before its tools begin. */

import type { Usage } from "../../run/event.js";
import type { Observation } from "../agent.js";
import { sizeOf } from "../content-size.js";
import { fingerprint } from "../fingerprint.js";
import { firstLine } from "../first-line.js";
import { isObject } from "../is-object.js";
import type { CopilotEvent } from "./sdk.js";
import { contentKind, plainName, toolKind } from "./tools.js";

interface Running {
  name: string;
  input: Record<string, unknown>;
}

export class EventStream {
  readonly #observe: (observation: Observation) => void;
  readonly #running = new Map<string, Running>();
  #prompts = 0;
  #window = 0;
  /** Tools that ended since the last boundary, and calls in all. */
  tools = 0;
  calls = 0;

  constructor(
    observe: (observation: Observation) => void,
    readonly compacts: boolean,
  ) {
    this.#observe = observe;
  }

  prompted(text: string): void {
    this.tools = 0;
    const key = `prompt-${++this.#prompts}`;
    const input = { type: "appended" as const, key, kind: "user" as const, chars: text.length, isResult: false };
    this.#observe({ type: "meter", input });
  }

  /** Of a tool that runs; empty where it is not known. */
  nameOf(id: string): string {
    return this.#running.get(id)?.name ?? "";
  }

  take({ type, data, agentId }: CopilotEvent): void {
    const subagent = agentId !== undefined;
    switch (type) {
      case "assistant.usage":
        return this.#call(data, subagent);
      case "assistant.message":
        if (!subagent && typeof data.content === "string" && data.content !== "")
          this.#observe({ type: "said", text: data.content });
        return;
      case "tool.execution_start":
        return this.#begins(data, subagent);
      case "tool.execution_complete":
        return this.#ends(data, subagent);
      case "session.usage_info":
        return this.#windowTold(Number(data.tokenLimit));
      case "session.compaction_complete":
        this.#observe({ type: "meter", input: { type: "compacted" } });
        this.#observe({ type: "compacted", before: Number(data.preCompactionTokens ?? 0), after: undefined });
        return;
      default:
        return;
    }
  }

  #call(data: Record<string, unknown>, subagent: boolean): void {
    const usage = usageOf(data);
    const model = String(data.model ?? "");
    const id = `call-${++this.calls}`;
    const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
    if (!subagent) {
      this.#observe({ type: "meter", input: { type: "call-started", id, model, prompt } });
      this.#observe({ type: "meter", input: { type: "call-finished", id, output: usage.output } });
    }
    this.#observe({ type: "call", id, model, usage, subagent });
  }

  #begins({ toolCallId, toolName, arguments: input }: Record<string, unknown>, subagent: boolean): void {
    const id = String(toolCallId);
    this.#running.set(id, { name: String(toolName), input: isObject(input) ? input : {} });
    if (!subagent) this.#observe({ type: "tool-started", id });
  }

  #ends(data: Record<string, unknown>, subagent: boolean): void {
    const id = String(data.toolCallId);
    const { name, input } = this.#running.get(id) ?? { name: "", input: {} };
    this.#running.delete(id);
    const result = isObject(data.result) ? data.result.content : (data.error ?? "");
    const { chars, images } = sizeOf(result);
    const kind = toolKind(name);
    const exit = isObject(data.shellExecution) ? data.shellExecution.exitCode : undefined;
    if (!subagent) {
      this.tools++;
      const appended = { type: "appended" as const, key: id, kind: contentKind(name), chars, images, isResult: true };
      this.#observe({ type: "meter", input: appended });
    }
    this.#observe({
      type: "tool",
      id,
      kind,
      name: plainName(name),
      brief: briefOf(input),
      ok: data.success === true && (typeof exit !== "number" || exit === 0),
      subagent,
      call: fingerprint([name, input]),
      result: fingerprint(result),
      edit: kind === "edit" ? { file: String(input.path ?? ""), to: fingerprint(input) } : undefined,
    });
  }

  #windowTold(window: number): void {
    if (!(window > 0) || window === this.#window) return;
    this.#window = window;
    const compactAt = this.compacts ? Math.round(window * COMPACTS_AT) : undefined;
    this.#observe({ type: "window", window, compactAt });
  }
}

/** Where it sums up by itself, of its window. */
const COMPACTS_AT = 0.8;

const count = (value: unknown): number => (typeof value === "number" && value > 0 ? value : 0);

/** What was cached is in its input. */
function usageOf(data: Record<string, unknown>): Usage {
  const [cacheRead, cacheWrite] = [count(data.cacheReadTokens), count(data.cacheWriteTokens)];
  return {
    input: Math.max(0, count(data.inputTokens) - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite,
    output: count(data.outputTokens),
  };
}

function briefOf({ command, path, pattern, url, message, description }: Record<string, unknown>): string {
  return firstLine(command ?? path ?? pattern ?? url ?? message ?? description);
}
