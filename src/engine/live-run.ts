/**
 * A run in this process: its journal, and what is folded from it.
 *
 * Invariants
 * 1. Nothing is folded that is not in the journal.
 * 2. Facts that precede a side effect are durable before the side effect begins.
 */
import { emptyLedger, type Ledger, recordFact } from "../handover/ledger.js";
import type { BlobRef, Fact, FactType, RunEvent } from "../run/event.js";
import { evolve } from "../run/evolve.js";
import type { RunState } from "../run/state.js";
import type { Journal } from "../store/journal.js";

/** What is seen, as opposed to what is decided: reaches the disk in groups. */
export const OBSERVATIONS: ReadonlySet<FactType> = new Set([
  "call-made",
  "tool-finished",
  "session-ready",
  "compaction-blocked",
]);

export class LiveRun {
  readonly journal: Journal;
  readonly folder: string;
  readonly #listeners: ((event: RunEvent) => void)[] = [];
  readonly #ledgers = new Map<string, Ledger>();
  /** Contents of plan files that are known to hold an agent's edits. */
  readonly agentsPlans = new Set<string>();
  /** What was warned of already. */
  readonly warnings = new Set<string>();
  /** Who or what asked it to stop, if anyone did. */
  stoppedBy: string | undefined;
  #onBroken: (error: unknown) => void = () => {};
  #state: RunState | undefined;
  #seq = 0;

  constructor(journal: Journal, folder: string, past: readonly RunEvent[]) {
    this.journal = journal;
    this.folder = folder;
    for (const event of past) this.#fold(event);
  }

  get state(): RunState {
    if (this.#state === undefined) throw new Error("the run has not started");
    return this.#state;
  }

  ledger(phase: string): Ledger {
    let ledger = this.#ledgers.get(phase);
    if (ledger === undefined) {
      ledger = emptyLedger();
      this.#ledgers.set(phase, ledger);
    }
    return ledger;
  }

  onEvent(listener: (event: RunEvent) => void): void {
    this.#listeners.push(listener);
  }

  append(...facts: Fact[]): void {
    const durable = facts.some((fact) => !OBSERVATIONS.has(fact.type));
    const appended = this.#write(facts, durable);
    for (const event of appended.events) {
      this.#fold(event);
      for (const listener of this.#listeners) listener(event);
    }
  }

  /** Called when the journal cannot be written: whoever appended may not be able to stop the run, this can. */
  onBroken(listener: (error: unknown) => void): void {
    this.#onBroken = listener;
  }

  #write(facts: Fact[], durable: boolean): { events: RunEvent[] } {
    try {
      const appended = this.journal.append(this.#seq, facts, { durable });
      if (!appended.ok) throw new Error("another process wrote to this run's journal");
      return appended;
    } catch (error) {
      this.#onBroken(error);
      throw error;
    }
  }

  close(): void {
    this.journal.close();
  }

  putBlob(content: string): BlobRef {
    return this.journal.putBlob(content);
  }

  getBlob(ref: BlobRef): string | undefined {
    return this.journal.getBlob(ref);
  }

  #fold(event: RunEvent): void {
    this.#state = evolve(this.#state, event);
    this.#seq = event.seq;
    if (event.type === "stop-requested") this.stoppedBy = event.by;
    if (event.type === "warned") this.warnings.add(event.message);
    if (event.type === "plan-edited-by-agent") for (const seen of event.seen) this.agentsPlans.add(seen);
    if ("phase" in event && event.phase !== undefined) recordFact(this.ledger(event.phase), event);
  }
}
