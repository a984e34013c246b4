/**
 * The Responses API, as Codex speaks it: its requests as the worker reads them, and the worker's replies as Codex takes
 * them. The worker knows a shell and a way to write files; here both are commands.
 */
import { randomUUID } from "node:crypto";
import { type Dialect, parsedObject, type Sent } from "./dialect.js";
import type { ReplyBlock } from "./reply.js";
import type { Block, ModelRequest, RequestMessage } from "./request.js";

interface ContentPart {
  type: string;
  text?: string;
}

interface ResponsesItem {
  type: string;
  role?: string;
  content?: ContentPart[] | string;
  name?: string;
  namespace?: string;
  arguments?: string;
  input?: string;
  call_id?: string;
  output?: string | ContentPart[];
  tools?: ResponsesTool[];
}

interface ResponsesTool {
  type: string;
  name?: string;
  tools?: ResponsesTool[];
}

interface ResponsesRequest {
  model: string;
  instructions?: string;
  input: ResponsesItem[];
  tools?: ResponsesTool[];
}

const SHELLS = new Set(["exec_command", "shell", "shell_command", "local_shell", "exec"]);

const textOf = (content: ResponsesItem["content"] | ResponsesItem["output"]): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

/** As the worker reads it: who said what, which tools there are, what they were called with and brought. */
function readResponses({ model, instructions, input, tools = [] }: ResponsesRequest): ModelRequest {
  const system: string[] = instructions === undefined ? [] : [instructions];
  const messages: RequestMessage[] = [];
  const add = (role: "user" | "assistant", block: Block): void => {
    const last = messages.at(-1);
    if (last?.role === role && typeof last.content !== "string") last.content.push(block);
    else messages.push({ role, content: [block] });
  };
  const listed = [...tools];
  for (const item of input) {
    if (item.type === "additional_tools") listed.push(...(item.tools ?? []));
    else if (item.type === "message" && (item.role === "developer" || item.role === "system"))
      system.push(textOf(item.content));
    else if (item.type === "message")
      add(item.role === "assistant" ? "assistant" : "user", { type: "text", text: textOf(item.content) });
    else if (item.type === "function_call" || item.type === "custom_tool_call") {
      const { name, given } = calledWith(item);
      add("assistant", { type: "tool_use", id: item.call_id ?? "", name, input: given });
    } else if (item.type === "function_call_output" || item.type === "custom_tool_call_output") {
      const output = textOf(item.output);
      add("user", { type: "tool_result", tool_use_id: item.call_id ?? "", content: output, is_error: failed(output) });
    }
  }
  return {
    model,
    system: system.map((text) => ({ type: "text" as const, text })),
    messages,
    tools: listed.flatMap(flattened).flatMap((tool) => namesOf(tool).map((name) => ({ ...tool, name }))),
    stream: true,
  };
}

const failed = (output: string): boolean =>
  /blocked by PreToolUse hook|Process exited with code [1-9]|^Exit code: [1-9]/m.test(output);

/** Models that work in code mode get their one tool in a namespace. */
const flattened = (tool: ResponsesTool): ResponsesTool[] =>
  tool.type === "namespace" && tool.name === FUNCTIONS ? (tool.tools ?? []) : [tool];

const FUNCTIONS = "functions";

function namesOf(tool: ResponsesTool): string[] {
  if (tool.type === "namespace") return (tool.tools ?? []).map((inner) => `${tool.name}__${inner.name}`);
  const name = tool.name ?? tool.type;
  return SHELLS.has(name) ? ["Bash", "Write"] : [name];
}

const PATCH = /^apply_patch <<'PATCH'\n\*\*\* Begin Patch\n\*\*\* Add File: (.+)\n([\s\S]*)\*\*\* End Patch\nPATCH$/;

/** A command that writes one file is what the worker calls `Write`. */
function calledWith({ name = "", namespace, arguments: given = "{}", input: code }: ResponsesItem): {
  name: string;
  given: Record<string, unknown>;
} {
  if (name === "exec" && code !== undefined)
    return writtenOrRun(String(parsedObject(/^\/\/ (.*)$/m.exec(code)?.[1] ?? "").cmd ?? ""));
  if (namespace !== undefined && !SHELLS.has(name))
    return { name: `${namespace}__${name}`, given: parsedObject(given) };
  if (!SHELLS.has(name)) return { name, given: parsedObject(given) };
  const { cmd, command = cmd } = parsedObject(given);
  return writtenOrRun(String(command ?? ""));
}

function writtenOrRun(text: string): { name: string; given: Record<string, unknown> } {
  const [, file, lines] = PATCH.exec(text) ?? [];
  if (file === undefined || lines === undefined) return { name: "Bash", given: { command: text } };
  const content = lines.replaceAll(/^\+/gm, "");
  return { name: "Write", given: { file_path: file, content } };
}

const eventLine = (event: { type: string; [field: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** Events of one answer, in order. */
function responsesEvents({ request, content, usage, silent }: Sent): { type: string; [field: string]: unknown }[] {
  const id = `resp_${randomUUID()}`;
  const codes = (request.tools ?? []).some((tool) => tool.name === "Bash" && "type" in tool && tool.type === "custom");
  const items = content.map((block) => itemOf(block, codes));
  const input = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  const counted = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cache_read_input_tokens },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + usage.output_tokens,
  };
  return [
    { type: "response.created", response: { id } },
    ...items.flatMap((item) => [
      { type: "response.output_item.added", item },
      { type: "response.output_item.done", item },
    ]),
    { type: "response.completed", response: { id, ...(silent ? {} : { usage: counted }) } },
  ];
}

/** `codes`: the model has one tool, which takes JavaScript. */
function itemOf(block: ReplyBlock, codes: boolean): Record<string, unknown> {
  if (block.type === "text")
    return {
      type: "message",
      role: "assistant",
      id: `msg_${randomUUID()}`,
      content: [{ type: "output_text", text: block.text }],
    };
  const call_id = `call_${randomUUID()}`;
  const [, namespace, tool] = /^(mcp__[a-z]+)__(.+)$/.exec(block.name) ?? [];
  if (namespace !== undefined && tool !== undefined)
    return { type: "function_call", name: tool, namespace, call_id, arguments: JSON.stringify(block.input) };
  const cmd = commandOf(block.name, block.input);
  if (codes) return { type: "custom_tool_call", name: "exec", namespace: FUNCTIONS, call_id, input: scriptOf(cmd) };
  return {
    type: "function_call",
    name: "exec_command",
    call_id,
    arguments: JSON.stringify({ cmd }),
  };
}

/** What it is for stands in its first line, so that it can be read again. */
const scriptOf = (cmd: string): string =>
  `// ${JSON.stringify({ cmd })}\nconst done = await tools.exec_command(${JSON.stringify({ cmd })});\ntext(done.output);\ntext("Process exited with code " + done.exit_code);`;

function commandOf(name: string, { command, file_path, content }: Record<string, unknown>): string {
  if (name === "Bash") return String(command ?? "true");
  if (name === "Read") return `cat -- '${String(file_path).replaceAll("'", "'\\''")}'`;
  if (name !== "Write") return `echo 'there is no tool ${name}' >&2; exit 1`;
  const lines = String(content ?? "")
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `+${line}\n`);
  return `apply_patch <<'PATCH'\n*** Begin Patch\n*** Add File: ${String(file_path)}\n${lines.join("")}*** End Patch\nPATCH`;
}

export const RESPONSES: Dialect = {
  read: (body) => readResponses(body as ResponsesRequest),
  answer: (sent) => responsesEvents(sent).map(eventLine),
  // What is too long is told in the stream.
  tooLong: (message) => [
    eventLine({ type: "response.failed", response: { error: { code: "context_length_exceeded", message } } }),
  ],
};
