/** What Codex does, item by item → observations. Knows which tool calls were let through and have been seen to end. */

import type { ToolName } from "../../tools/tools.js";
import type { Observation } from "../agent.js";
import { sizeOf } from "../content-size.js";
import { fingerprint } from "../fingerprint.js";
import { firstLine } from "../first-line.js";
import { contentKind, PATCH, plainName, SHELL, toolKind, toolName } from "./tools.js";

export interface Item {
  type: string;
  id: string;
  text?: string;
  command?: string;
  aggregatedOutput?: string | null;
  exitCode?: number | null;
  status?: string;
  server?: string;
  tool?: string;
  arguments?: unknown;
  result?: { content?: unknown } | null;
  error?: unknown;
  changes?: { path?: string; diff?: string }[];
}

interface Begun {
  id: string;
  name: string;
  input: unknown;
}

/** No more of an output reaches the model. */
const MOST_OUTPUT = 40_000;
const FRAMING = 100;

export class ItemStream {
  readonly #observe: (observation: Observation) => void;
  readonly #begun = new Map<string, Begun>();
  readonly #open = new Set<string>();
  #tools = 0;
  #prompts = 0;
  #waiters: (() => void)[] = [];

  constructor(observe: (observation: Observation) => void) {
    this.#observe = observe;
  }

  /** Whether a tool ended since the last boundary. */
  get hasTools(): boolean {
    return this.#tools > 0;
  }

  boundary(): void {
    this.#tools = 0;
  }

  prompted(text: string): void {
    const input = {
      type: "appended",
      key: `prompt-${++this.#prompts}`,
      kind: "user",
      chars: text.length,
      isResult: false,
    } as const;
    this.#observe({ type: "meter", input });
  }

  /** A tool is about to run, or was refused: then it is over at once. */
  begins(given: Begun, refusal: string | undefined): void {
    const begun = { ...given, name: nameOf(given.name, given.input) };
    this.#begun.set(begun.id, begun);
    this.#tools++;
    if (refusal === undefined) {
      this.#open.add(begun.id);
      this.#observe({ type: "tool-started", id: begun.id });
    } else this.#report(begun, false, refusal, refusal.length);
  }

  completed(item: Item): void {
    switch (item.type) {
      case "agentMessage":
        if ((item.text ?? "") !== "") this.#observe({ type: "said", text: item.text ?? "" });
        return;
      case "commandExecution":
        this.#ended(item, SHELL, item.exitCode === 0, item.aggregatedOutput ?? "");
        return;
      case "fileChange":
        this.#ended(item, PATCH, item.status === "completed", JSON.stringify(item.changes ?? []));
        return;
      case "mcpToolCall": {
        const name = item.server === "segno" ? toolName(item.tool as ToolName) : `mcp__${item.server}__${item.tool}`;
        const failed = item.error !== null && item.error !== undefined;
        this.#ended(item, name, item.status === "completed" && !failed, item.result?.content ?? "");
        return;
      }
      case "contextCompaction":
        this.#observe({ type: "meter", input: { type: "compacted" } });
        this.#observe({ type: "compacted", before: 0, after: undefined });
        return;
      default:
        return;
    }
  }

  #ended(item: Item, name: string, ok: boolean, output: unknown): void {
    const begun = this.#begun.get(item.id) ?? { id: item.id, name, input: inputOf(item) };
    const { chars } = sizeOf(output);
    this.#open.delete(item.id);
    this.#report({ ...begun, name: begun.name || name }, ok, output, Math.min(chars, MOST_OUTPUT) + FRAMING);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #report({ id, name, input }: Begun, ok: boolean, output: unknown, chars: number): void {
    this.#observe({
      type: "meter",
      input: { type: "appended", key: id, kind: contentKind(name), chars, isResult: true },
    });
    this.#observe({
      type: "tool",
      id,
      kind: toolKind(name),
      name: plainName(name),
      brief: briefOf(name, input),
      ok,
      subagent: false,
      call: fingerprint([name, input]),
      result: fingerprint(output),
      edit: editOf(name, input),
    });
  }

  /** Resolves when every tool that was let through was seen to end, or the time is up. */
  async allSeen(limitMs: number): Promise<void> {
    const until = Date.now() + limitMs;
    while (this.#open.size > 0 && Date.now() < until) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, until - Date.now());
        this.#waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }
}

/** A patch that is given to the shell is taken out of it, and applied: an edit. */
export const nameOf = (name: string, input: unknown): string =>
  name === SHELL && /^\s*apply_patch\b/.test(String(textOf(input).command ?? "")) ? PATCH : name;

const inputOf = ({ command, changes, arguments: given }: Item): unknown =>
  command === undefined ? (changes ?? given ?? {}) : { command };

const textOf = (input: unknown): Record<string, unknown> =>
  typeof input === "object" && input !== null ? (input as Record<string, unknown>) : { command: String(input ?? "") };

function briefOf(name: string, input: unknown): string {
  const { command, message, path } = textOf(input);
  return firstLine(name === PATCH ? patchedFile(input) : (command ?? message ?? path));
}

const PATCHED = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/m;

const patchedFile = (input: unknown): string | undefined =>
  PATCHED.exec(
    typeof input === "string"
      ? input
      : String(textOf(input).command ?? textOf(input).input ?? textOf(input).patch ?? ""),
  )?.[1];

function editOf(name: string, input: unknown): { file: string; to: string } | undefined {
  if (toolKind(name) !== "edit") return undefined;
  return { file: patchedFile(input) ?? "", to: fingerprint(input) };
}
