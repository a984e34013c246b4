/**
 * A run in this process: its journal, and what is folded from it.
 *
 * Invariants
 * 1. Nothing is folded that is not in the journal, or on its way there.
 * 2. Decisions, and facts that precede a side effect, are durable before the side effect begins.
 */
import { emptyLedger, type Ledger, recordFact } from "../handover/ledger.js";
import type { BlobRef, Fact, RunEvent } from "../run/event.js";
import { evolve } from "../run/evolve.js";
import type { RunState } from "../run/state.js";
import type { Journal } from "../store/store.js";

export class LiveRun {
  readonly #journal: Journal;
  readonly #listeners: ((event: RunEvent) => void)[] = [];
  readonly #ledgers = new Map<string, Ledger>();
  /** Contents of plan files that are known to hold an agent's edits. */
  readonly agentsPlans = new Set<string>();
  readonly #warned = new Set<string>();
  #onBroken: (error: unknown) => void = () => {};
  /** What an agent did last, for when something of ours is gone. */
  #lastTool: string | undefined;
  #state: RunState | undefined;

  constructor(journal: Journal, past: readonly RunEvent[]) {
    this.#journal = journal;
    for (const event of past) this.#fold(event);
    journal.onOthers((events) => this.#take(events));
    journal.onMoved(({ why, where }) => this.#moved(why, where));
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

  /** What happened here: folded at once. */
  append(...facts: Fact[]): void {
    this.#guarded(() => this.#take(this.#journal.append(facts)));
  }

  /** What happened here, where its time decides something, or a side effect follows: folded as it was stamped. */
  async record(...facts: Fact[]): Promise<void> {
    await this.#submit(facts);
  }

  /** Conclusions drawn from the state as it is now; false if somebody else was faster, and it has to be decided anew. */
  decide(facts: readonly Fact[]): Promise<boolean> {
    return this.#submit(facts, { after: this.state.seq });
  }

  async #submit(facts: readonly Fact[], options?: { after: number }): Promise<boolean> {
    try {
      return (await this.#journal.submit(facts, (events) => this.#take(events), options)).ok;
    } catch (error) {
      this.#onBroken(error);
      throw error;
    }
  }

  /** Resolves when all that was appended is kept. */
  async flush(): Promise<void> {
    try {
      await this.#journal.flush();
    } catch (error) {
      this.#onBroken(error);
      throw error;
    }
  }

  /** Says it once. */
  warn(message: string, phase?: string): void {
    if (!this.#warned.has(message)) this.append({ type: "warned", message, ...(phase === undefined ? {} : { phase }) });
  }

  /** Called when the journal cannot be written: whoever appended may not be able to stop the run, this can. */
  onBroken(listener: (error: unknown) => void): void {
    this.#onBroken = listener;
  }

  #moved(why: string, where: string): void {
    const after = this.#lastTool === undefined ? "" : ` after ${this.#lastTool}`;
    try {
      this.warn(`Where the run is kept, ${why}${after}. All of it is in ${where} now, and the run goes on.`);
    } catch {
      // It is broken again; whoever appended that knows.
    }
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#onBroken(error);
      throw error;
    }
  }

  #take(events: readonly RunEvent[]): void {
    for (const event of events) {
      this.#fold(event);
      for (const listener of this.#listeners) listener(event);
    }
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  putBlob(content: string): BlobRef {
    return this.#journal.putBlob(content);
  }

  getBlob(ref: BlobRef): Promise<string | undefined> {
    return this.#journal.getBlob(ref);
  }

  #fold(event: RunEvent): void {
    this.#state = evolve(this.#state, event);
    if (event.type === "warned") this.#warned.add(event.message);
    if (event.type === "tool-finished") this.#lastTool = `${event.tool} ${event.brief}`.trim();
    if (event.type === "plan-edited-by-agent") for (const seen of event.seen) this.agentsPlans.add(seen);
    if ("phase" in event && event.phase !== undefined) recordFact(this.ledger(event.phase), event);
  }
}
