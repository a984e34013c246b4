/** What a session handed over, as it is kept: whoever reads it back has already made sure that it is whole. */
import type { Claims } from "./claims.js";

/** Through the tool, in a block of its answer, or only its answer. */
export type Handed = { type: "tool"; claims: Claims } | { type: "block" | "answer"; text: string };

export const writeHanded = (handed: Handed): string => JSON.stringify({ schema: SCHEMA, handed });

const SCHEMA = 1;

/** A text that is not one of ours (version 0.1 kept texts) is an answer; undefined where a newer Segno wrote it. */
export function readHanded(text: string): Handed | undefined {
  try {
    const { schema, handed } = JSON.parse(text) as { schema?: unknown; handed?: Handed };
    if (typeof schema === "number" && schema > SCHEMA) return undefined;
    if (schema === SCHEMA && handed !== undefined) return handed;
  } catch {
    // Not JSON.
  }
  return { type: "answer", text };
}
