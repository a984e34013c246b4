/** Codex's rollout files, line by line, as lines of the form that `TranscriptMeter` reads. */
import { toolName } from "../claude/tools.js";
import { SHELL } from "./tools.js";

interface RolloutLine {
  type?: string;
  payload?: {
    type?: string;
    model?: string;
    role?: string;
    content?: { type?: string; text?: string }[];
    name?: string;
    namespace?: string;
    arguments?: string;
    input?: string;
    call_id?: string;
    output?: unknown;
    response_id?: string;
    usage?: TokenUsage;
    info?: { last_token_usage?: TokenUsage; total_token_usage?: TokenUsage } | null;
  };
}

interface TokenUsage {
  input_tokens?: number;
  cached_input_tokens?: number;
  cache_write_input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
}

export const isRollout = (first: unknown): boolean => (first as RolloutLine | null)?.type === "session_meta";

/** What a call said and called comes before its usage, and what its tools brought after it. */
export function rolloutReader(): (value: unknown) => unknown[] {
  let model = "";
  let said: unknown[] = [];
  let calls = 0;
  let hasRecords = false;
  let total = -1;
  const called = (id: string, usage: TokenUsage): unknown[] => {
    const { input_tokens: input = 0, cached_input_tokens: read = 0, cache_write_input_tokens: written = 0 } = usage;
    const counted = {
      input_tokens: Math.max(0, input - read - written),
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      output_tokens: usage.output_tokens ?? 0,
    };
    const content = said;
    said = [];
    return [{ type: "assistant", message: { id, model, stop_reason: "end_turn", content, usage: counted } }];
  };
  return (value) => {
    const { type, payload } = value as RolloutLine;
    if (payload === undefined) return [];
    if (type === "turn_context") model = payload.model ?? model;
    if (type === "compacted") return [{ type: "system", subtype: "compact_boundary" }];
    if (type === "token_usage_record" && payload.usage !== undefined) {
      hasRecords = true;
      return called(payload.response_id ?? `call-${++calls}`, payload.usage);
    }
    if (type === "event_msg" && payload.type === "token_count" && !hasRecords) {
      const { last_token_usage: last, total_token_usage: all } = payload.info ?? {};
      // It is repeated on retries.
      if (last === undefined || all?.total_tokens === total) return [];
      total = all?.total_tokens ?? total;
      return called(`call-${++calls}`, last);
    }
    return type === "response_item" ? itemLines(payload, said) : [];
  };
}

/** An item of the model's is kept for its call's line; what came to it is a line of its own. */
function itemLines(item: NonNullable<RolloutLine["payload"]>, said: unknown[]): unknown[] {
  const text = (item.content ?? []).map((part) => part.text ?? "").join("\n");
  switch (item.type) {
    case "message":
      if (item.role === "assistant") {
        said.push({ type: "text", text });
        return [];
      }
      return [{ type: "user", isMeta: item.role !== "user", message: { content: text } }];
    case "function_call":
    case "custom_tool_call":
      said.push({
        type: "tool_use",
        id: item.call_id,
        name: nameOf(item.name ?? "", item.namespace),
        input: item.arguments ?? item.input ?? "",
      });
      return [];
    case "function_call_output":
    case "custom_tool_call_output": {
      const content = typeof item.output === "string" ? item.output : JSON.stringify(item.output ?? "");
      return [{ type: "user", message: { content: [{ type: "tool_result", tool_use_id: item.call_id, content }] } }];
    }
    default:
      return [];
  }
}

function nameOf(name: string, namespace: string | undefined): string {
  if (namespace?.startsWith("mcp__")) return name === "progress" ? toolName("progress") : `${namespace}__${name}`;
  return /^(exec|exec_command|shell|shell_command|local_shell)$/.test(name)
    ? SHELL
    : name === "apply_patch"
      ? "Edit"
      : name;
}
