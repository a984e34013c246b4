import type { StuckKind } from "../run/event.js";

/** Going round in circles: what a session does again and again without anything coming of it. */
export interface ToolTrace {
  tool: string;
  brief: string;
  ok: boolean;
  /** Hashes of what it was called with and of what came back. */
  call: string;
  result: string;
  /** For an edit: the file, and the hash of what it wrote there. */
  edit?: { file: string; to: string } | undefined;
}

export interface StuckLimits {
  stuck_repeats: number;
  stuck_errors: number;
}

export interface StuckEvidence {
  kind: StuckKind;
  text: string;
}

const ALTERNATIONS = 4;

/** Watches one session. Whatever changes a file or reports progress starts the counts anew. */
export class StuckWatch {
  readonly #limits: StuckLimits;
  readonly #repeats = new Map<string, number>();
  readonly #errors = new Map<string, number>();
  readonly #edits = new Map<string, string[]>();

  constructor(limits: StuckLimits) {
    this.#limits = limits;
  }

  progressed(): void {
    this.#repeats.clear();
    this.#errors.clear();
    this.#edits.clear();
  }

  take({ tool, brief, ok, call, result, edit }: ToolTrace): StuckEvidence | undefined {
    const { stuck_repeats, stuck_errors } = this.#limits;
    const what = `${tool} ${brief}`.trim();
    if (ok && edit !== undefined) return this.#edited(edit);
    if (!ok && stuck_errors > 0 && count(this.#errors, `${tool} ${result}`) === stuck_errors) {
      this.#errors.delete(`${tool} ${result}`);
      return { kind: "repeated-error", text: `the same error ${stuck_errors} times: ${what}` };
    }
    if (stuck_repeats > 0 && count(this.#repeats, `${call} ${result}`) === stuck_repeats) {
      this.#repeats.delete(`${call} ${result}`);
      return { kind: "repeated-call", text: `the same tool call with the same result ${stuck_repeats} times: ${what}` };
    }
    return undefined;
  }

  /** A, B, A, B in one file: each edit undoes the one before it. */
  #edited({ file, to }: { file: string; to: string }): StuckEvidence | undefined {
    this.#repeats.clear();
    this.#errors.clear();
    if (this.#limits.stuck_repeats === 0) return undefined;
    const past = [...(this.#edits.get(file) ?? []), to].slice(-ALTERNATIONS);
    this.#edits.set(file, past);
    const [a, b, c, d] = past;
    if (d === undefined || a !== c || b !== d || a === b) return undefined;
    this.#edits.delete(file);
    return { kind: "alternating-edits", text: `edits of ${file} that undo each other` };
  }
}

function count(counts: Map<string, number>, key: string): number {
  const n = (counts.get(key) ?? 0) + 1;
  counts.set(key, n);
  return n;
}
