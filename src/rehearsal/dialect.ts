/** Another vendor's API with the same behaviour behind it: how its requests are read, and how answers are told. */
import type { InputUsage } from "./cache.js";
import type { ReplyBlock } from "./reply.js";
import type { ModelRequest } from "./request.js";

export interface Sent {
  request: ModelRequest;
  content: readonly ReplyBlock[];
  usage: InputUsage & { output_tokens: number };
  /** Without usage figures. */
  silent: boolean;
}

export interface Dialect {
  /** As the worker reads it: who said what, which tools there are, what they were called with and brought. */
  read(body: unknown, path: string): ModelRequest;
  /** The answer as pieces of an event stream; one that is cut off ends after its first half. */
  answer(sent: Sent): string[];
  /** Undefined: an error of the request, like any other. */
  tooLong(message: string): string[] | undefined;
}

/** What a JSON text says; nothing where it is none. */
export function parsedObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
