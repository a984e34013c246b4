/**
 * Prompt caching as the Messages API accounts for it: what was sent before up to a breakpoint is read, what is new
 * up to the last breakpoint is written, the rest is plain input.
 */
import { createHash } from "node:crypto";
import { type Piece, tokensOfPiece } from "./request.js";

export interface InputUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

export class PromptCache {
  readonly #prefixes = new Set<string>();

  account(model: string, pieces: Piece[]): InputUsage {
    const hash = createHash("sha256").update(model);
    let total = 0;
    let read = 0;
    let cached = 0;
    const fresh: string[] = [];
    for (const piece of pieces) {
      hash.update(piece.text).update("\0");
      total += tokensOfPiece(piece);
      const key = hash.copy().digest("base64");
      if (this.#prefixes.has(key)) read = total;
      if (piece.breakpoint) {
        cached = total;
        fresh.push(key);
      }
    }
    for (const key of fresh) this.#prefixes.add(key);
    const upTo = Math.max(cached, read);
    return {
      input_tokens: total - upTo,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: upTo - read,
    };
  }
}
