/**
 * Chat completions, as opencode and Copilot speak them: their requests as the worker reads them, and the worker's replies as
 * they take them. The worker's three tools have other names there.
 */
import { randomUUID } from "node:crypto";
import { type Dialect, parsedObject, type Sent } from "./dialect.js";
import type { Block, ModelRequest, RequestMessage } from "./request.js";

interface ContentPart {
  type: string;
  text?: string;
}

interface CompletionsMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content?: string | ContentPart[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

interface CompletionsRequest {
  model: string;
  messages: CompletionsMessage[];
  tools?: Offered[];
}

interface Offered {
  type: string;
  function: { name: string };
}

/** The worker's name for a tool, the agent's, and the agent's name for each thing it is called with. */
const TOOLS = [
  { own: "Bash", theirs: "bash", fields: { command: "command", description: "description" } },
  { own: "Write", theirs: "write", fields: { file_path: "filePath", content: "content" } },
  { own: "Read", theirs: "read", fields: { file_path: "filePath" } },
  { own: "Write", theirs: "create", fields: { file_path: "path", content: "file_text" } },
  { own: "Read", theirs: "view", fields: { file_path: "path" } },
] as const;

const textOf = (content: CompletionsMessage["content"]): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

function readCompletions({ model, messages, tools = [] }: CompletionsRequest): ModelRequest {
  const system: string[] = [];
  const read: RequestMessage[] = [];
  const names = new Map<string, string>();
  const add = (role: "user" | "assistant", ...blocks: Block[]): void => {
    const last = read.at(-1);
    if (last?.role === role && typeof last.content !== "string") last.content.push(...blocks);
    else read.push({ role, content: blocks });
  };
  for (const { role, content, tool_calls = [], tool_call_id: id = "" } of messages) {
    const text = textOf(content);
    if (role === "system" || role === "developer") system.push(text);
    else if (role === "tool") {
      const is_error = failed(names.get(id) ?? "", text);
      add("user", { type: "tool_result", tool_use_id: id, content: text, is_error });
    } else {
      add(role, { type: "text", text });
      for (const call of tool_calls) {
        const known = TOOLS.find(({ theirs }) => theirs === call.function.name);
        const name = known?.own ?? call.function.name;
        names.set(call.id, name);
        const input = renamed(parsedObject(call.function.arguments), known?.fields, "own");
        add("assistant", { type: "tool_use", id: call.id, name, input });
      }
    }
  }
  return {
    model,
    system: system.map((text) => ({ type: "text" as const, text })),
    messages: read,
    tools: tools.map((tool) => {
      const { name } = tool.function;
      return { ...tool, name: TOOLS.find(({ theirs }) => theirs === name)?.own ?? name };
    }),
    stream: true,
  };
}

/** An error is a text like any other here: what says so, and a file that was not written. */
const failed = (name: string, text: string): boolean =>
  /^(?:Error|Tool refused)\b/.test(text) || (name === "Write" && !/^(?:Wrote|Created) file/.test(text));

function renamed(
  input: Record<string, unknown>,
  fields: Readonly<Record<string, string>> | undefined,
  to: "own" | "theirs",
): Record<string, unknown> {
  if (fields === undefined) return input;
  const pairs = Object.entries(fields).map(([own, theirs]) => (to === "own" ? [theirs, own] : [own, theirs]));
  const names = Object.fromEntries(pairs) as Record<string, string>;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names[name] ?? name, value]));
}

function completionsChunks({ request: { model, tools = [] }, content, usage, silent }: Sent): string[] {
  const offered = new Set((tools as Partial<Offered>[]).map((tool) => tool.function?.name ?? ""));
  const base = { id: `chatcmpl-${randomUUID()}`, object: "chat.completion.chunk", created: 1, model };
  const chunk = (more: object): string => `data: ${JSON.stringify({ ...base, ...more })}\n\n`;
  const said = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
  const calls = content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
  const prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  const counted = {
    prompt_tokens: prompt,
    completion_tokens: usage.output_tokens,
    total_tokens: prompt + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cache_read_input_tokens },
  };
  const delta = (fields: object): string => chunk({ choices: [{ index: 0, delta: fields }] });
  return [
    delta({ role: "assistant", content: said }),
    ...calls.map(({ name, input }, index) => {
      const known = TOOLS.find(({ own, theirs }) => own === name && offered.has(theirs));
      const called = {
        name: known?.theirs ?? name,
        arguments: JSON.stringify(renamed(input, known?.fields, "theirs")),
      };
      return delta({ tool_calls: [{ index, id: `call_${randomUUID()}`, type: "function", function: called }] });
    }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] }),
    ...(silent ? [] : [chunk({ choices: [], usage: counted })]),
    "data: [DONE]\n\n",
  ];
}

export const COMPLETIONS: Dialect = {
  read: (body) => readCompletions(body as CompletionsRequest),
  answer: completionsChunks,
  tooLong: () => undefined,
};
