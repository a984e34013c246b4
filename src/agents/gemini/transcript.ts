/** The record that Gemini CLI keeps of a conversation: what each call was counted at. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { AgentRecord } from "../acp/updates.js";

interface Line {
  id?: string;
  type?: string;
  model?: string;
  toolCalls?: { id?: string; status?: string; result?: unknown }[] | null;
  tokens?: { input?: number; output?: number; cached?: number; thoughts?: number; tool?: number };
}

/** Reads on from where it stopped; a line that is not whole yet waits. */
export class Transcript implements AgentRecord {
  readonly #path: string;
  readonly #seen = new Set<string>();
  readonly #results = new Map<string, { chars: number; ok: boolean }>();
  #offset = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
  }

  resultOf(id: string): { chars: number; ok: boolean } | undefined {
    return this.#results.get(id);
  }

  newCalls(): ReturnType<AgentRecord["newCalls"]> {
    const lines = (this.#rest + this.#read()).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((text) => {
      const { id = "", type, model = "", tokens, toolCalls } = parsed(text);
      for (const call of toolCalls ?? []) this.#ended(call);
      // A message is written again when its tools have ended.
      if (type !== "gemini" || tokens === undefined || tokens === null || this.#seen.has(id)) return [];
      this.#seen.add(id);
      const { input = 0, output = 0, cached = 0, thoughts = 0, tool = 0 } = tokens;
      return [
        {
          model,
          usage: {
            input: Math.max(0, input + tool - cached),
            cacheRead: cached,
            cacheWrite: 0,
            output: output + thoughts,
          },
        },
      ];
    });
  }

  #ended({ id = "", status, result }: NonNullable<Line["toolCalls"]>[number]): void {
    const text = textIn(result);
    // A command that failed is a success here.
    const exit = Number(/^Exit Code: (\d+)$/m.exec(text)?.[1] ?? 0);
    this.#results.set(id, { chars: text.length, ok: status === "success" && exit === 0 });
  }

  #read(): string {
    let file: number | undefined;
    try {
      file = openSync(this.#path, "r");
      const size = fstatSync(file).size - this.#offset;
      if (size <= 0) return "";
      const bytes = Buffer.alloc(size);
      const count = readSync(file, bytes, 0, size, this.#offset);
      this.#offset += count;
      return bytes.subarray(0, count).toString("utf8");
    } catch {
      return "";
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }
}

/** What its model sees of a tool's result. */
function textIn(result: unknown): string {
  const parts = (Array.isArray(result) ? result : [result]) as { functionResponse?: { response?: Answer } }[];
  return parts
    .map((part) => part?.functionResponse?.response)
    .map((answer) => answer?.error ?? answer?.output ?? answer ?? "")
    .map((said) => (typeof said === "string" ? said : JSON.stringify(said)))
    .join("\n");
}

interface Answer {
  output?: unknown;
  error?: unknown;
}

function parsed(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return {};
  }
}
