/**
 * Google's `generateContent`, as Gemini CLI speaks it: its requests as the worker reads them, and the worker's replies as it
 * takes them. The worker's three tools have other names there.
 */
import { randomUUID } from "node:crypto";
import type { Dialect, Sent } from "./dialect.js";
import type { Block, ModelRequest, RequestMessage } from "./request.js";

interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: { id?: string; name: string; args?: Record<string, unknown> };
  functionResponse?: { id?: string; name: string; response?: { output?: unknown; error?: unknown } };
}

interface GenerateRequest {
  contents: { role?: string; parts?: Part[] }[];
  systemInstruction?: { parts?: Part[] } | string;
  tools?: { functionDeclarations?: { name: string }[] }[];
}

/** The worker's name for a tool, and the agent's. */
const TOOLS = [
  ["Bash", "run_shell_command"],
  ["Write", "write_file"],
  ["Read", "read_file"],
] as const;

const ownName = (name: string): string => TOOLS.find(([, theirs]) => theirs === name)?.[0] ?? name;
const theirName = (name: string): string => TOOLS.find(([own]) => own === name)?.[1] ?? name;

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

function readGenerate({ contents, systemInstruction, tools = [] }: GenerateRequest, path: string): ModelRequest {
  const [, model = ""] = /\/models\/([^/:]+):/.exec(path) ?? [];
  const system =
    typeof systemInstruction === "string" ? [{ text: systemInstruction }] : (systemInstruction?.parts ?? []);
  let calls = 0;
  const waiting: string[] = [];
  const messages = contents.map(({ role, parts = [] }): RequestMessage => {
    const blocks = parts.flatMap((part): Block[] => {
      if (part.functionCall !== undefined) {
        const { id = `call_${++calls}`, name, args = {} } = part.functionCall;
        waiting.push(id);
        return [{ type: "tool_use", id, name: ownName(name), input: args }];
      }
      if (part.functionResponse !== undefined) {
        const { id, response = {} } = part.functionResponse;
        const at = id === undefined ? 0 : Math.max(0, waiting.indexOf(id));
        const [answered = ""] = waiting.splice(at, 1);
        const is_error = response.error !== undefined;
        return [
          { type: "tool_result", tool_use_id: answered, content: textOf(response.error ?? response.output), is_error },
        ];
      }
      return part.text === undefined ? [] : [{ type: "text", text: part.text }];
    });
    return { role: role === "model" ? "assistant" : "user", content: blocks };
  });
  return {
    model,
    system: system.map(({ text = "" }) => ({ type: "text" as const, text })),
    messages,
    tools: tools.flatMap(({ functionDeclarations = [] }) =>
      functionDeclarations.map((tool) => ({ ...tool, name: ownName(tool.name) })),
    ),
    stream: path.includes(":streamGenerateContent"),
  };
}

function generated({ request: { model, stream }, content, usage, silent }: Sent): string[] {
  const parts = content.map((block) =>
    block.type === "text"
      ? { text: block.text }
      : { functionCall: { id: `call_${randomUUID()}`, name: theirName(block.name), args: block.input } },
  );
  const prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  const usageMetadata = {
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cache_read_input_tokens,
    candidatesTokenCount: usage.output_tokens,
    totalTokenCount: prompt + usage.output_tokens,
  };
  const answer = JSON.stringify({
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    ...(silent ? {} : { usageMetadata }),
    modelVersion: model,
    responseId: randomUUID(),
  });
  return [stream === true ? `data: ${answer}\n\n` : answer];
}

export const GENERATE_CONTENT: Dialect = {
  read: (body, path) => readGenerate(body as GenerateRequest, path),
  answer: generated,
  tooLong: () => undefined,
};

export const isGenerateContent = (path: string): boolean =>
  /^\/v1(?:beta)?\/models\/[^/]+:(?:streamG|g)enerateContent$/.test(path);
