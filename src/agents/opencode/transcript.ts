/** What `opencode export` prints, as lines of the form that `TranscriptMeter` reads. */
import { toolName } from "../claude/tools.js";
import type { Message, Part } from "./messages.js";
import { toolKind } from "./tools.js";

interface Exported {
  info?: { id?: string };
  messages?: Message[];
}

export const isExport = (value: unknown): boolean =>
  Array.isArray((value as Exported | null)?.messages) && (value as Exported).info?.id?.startsWith("ses_") === true;

export function exportLines(value: unknown): unknown[] {
  return ((value as Exported).messages ?? []).flatMap((message) => linesOf(message));
}

function linesOf({ info, parts }: Message): unknown[] {
  const texts = parts.flatMap(({ type, text }) => (type === "text" ? [{ type: "text", text: text ?? "" }] : []));
  if (info.role !== "assistant") return [{ type: "user", message: { content: texts } }];
  const tools = parts.filter(({ type }) => type === "tool");
  const { input = 0, output = 0, reasoning = 0, cache = { read: 0, write: 0 } } = info.tokens ?? {};
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: cache.read,
    cache_creation_input_tokens: cache.write,
    output_tokens: output + reasoning,
  };
  const content = [...texts, ...tools.map((part) => ({ type: "tool_use", id: part.id, ...calledIn(part) }))];
  const results = tools.map(({ id, state }) => ({
    type: "tool_result",
    tool_use_id: id,
    content: state?.output ?? state?.error ?? "",
  }));
  return [
    ...(info.summary === true ? [{ type: "system", subtype: "compact_boundary" }] : []),
    { type: "assistant", message: { id: info.id, model: info.modelID, stop_reason: "end_turn", content, usage } },
    ...(results.length === 0 ? [] : [{ type: "user", message: { content: results } }]),
  ];
}

const NAMES: Partial<Record<ReturnType<typeof toolKind>, string>> = {
  shell: "Bash",
  edit: "Edit",
  read: "Read",
  search: "Grep",
  web: "WebFetch",
  agent: "Task",
};

const calledIn = ({ tool = "", state }: Part): { name: string; input: unknown } => ({
  name: tool.endsWith("_progress") ? toolName("progress") : (NAMES[toolKind(tool)] ?? tool),
  input: state?.input ?? {},
});
