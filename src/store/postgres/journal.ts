/**
 * The journal of a run in PostgreSQL, as its holder writes it.
 *
 * Invariants
 * 1. One thing at a time: what was appended is shipped in its order, and what others wrote is handed over before what
 *    came after it.
 * 2. A batch keeps its number until it was answered, whatever the line does meanwhile: sent again, it is the same one.
 * 3. Blobs are there before the event that names them.
 * 4. Under a lease that was lost nothing more is taken, from here or from what is on its way.
 */
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type BlobRef, EVENT_VERSION, type Fact, type FactType, type RunEvent } from "../../run/event.js";
import { OBSERVATIONS } from "../../run/observations.js";
import { cleaned } from "../cleaned.js";
import type { Journal, Lease } from "../store.js";
import { type Database, isLineLost } from "./database.js";
import { eventsAfter, readBlob } from "./reading.js";

const MOST_AT_ONCE = 200;
const AGAIN_MS = [50, 200, 500, 1_000];

/** Somebody else holds the lease now: whatever is done here from now on counts for nothing. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

const isFact = ({ type }: { type: FactType }): boolean => !OBSERVATIONS.has(type);

interface Decision {
  facts: readonly Fact[];
  /** How much of others had been heard when it was drawn, where that matters: anything more overtakes it. */
  heard: number | undefined;
  taken: (events: RunEvent[]) => void;
  resolve: (answer: { ok: boolean }) => void;
  reject: (error: unknown) => void;
}

type Waiting = { type: "appended"; fact: Fact } | { type: "submitted"; decision: Decision };

export interface PgJournalOptions {
  run: string;
  lease: Lease;
  /** Whose facts these are: a phase, or nothing for the conductor. */
  scope: string;
  /** False for who only steers: no lease, only a comparison. */
  leased: boolean;
  /** Whether its holder may still believe that it has the lease: what happens to one that cannot know is no fact. */
  holds?: (() => boolean) | undefined;
  /** The newest event its holder knows. */
  known: number;
  now: () => Date;
}

export class PgJournal implements Journal {
  readonly #database: Database;
  readonly #options: PgJournalOptions;
  readonly #writer = randomUUID();
  readonly #waiting: Waiting[] = [];
  readonly #blobs = new Map<BlobRef, string>();
  #batch = 0;
  /** The newest event there that was handed over, or is its holder's own. */
  #known: number;
  /** The highest number that its holder got: until it is shipped, an event of its own may turn out to have another. */
  #last: number;
  /** The same, of facts: what is merely observed overtakes no decision. */
  #lastFact: number;
  /** How many facts of others were handed over. */
  #heard = 0;
  #onTheWay = 0;
  #shipping: Promise<void> | undefined;
  /** What others wrote before anyone wanted to hear it is kept until somebody does. */
  readonly #unheard: RunEvent[] = [];
  #others: (events: RunEvent[]) => void = (events) => void this.#unheard.push(...events);
  #broken: unknown;
  #closed = false;
  readonly #unlisten: () => void;

  constructor(database: Database, options: PgJournalOptions) {
    this.#database = database;
    this.#options = options;
    this.#known = options.known;
    this.#last = options.known;
    this.#lastFact = options.known;
    this.#unlisten = database.listen(options.run, () => this.#ship());
  }

  append(facts: readonly Fact[]): RunEvent[] {
    this.#expectOpen();
    const at = this.#options.now().toISOString();
    const from = this.#known + this.#onTheWay + 1;
    this.#onTheWay += facts.length;
    this.#handed(facts.map(({ type }, n) => ({ type, seq: from + n })));
    for (const fact of facts) this.#waiting.push({ type: "appended", fact });
    this.#ship();
    return facts.map((fact, n) => ({ ...this.#clean(fact, from + n, at).event, provisional: true as const }));
  }

  async submit(
    facts: readonly Fact[],
    taken: (events: RunEvent[]) => void,
    options?: { after: number },
  ): Promise<{ ok: boolean }> {
    this.#expectOpen();
    // It was drawn from something else than its holder has.
    if (options !== undefined && (options.after < this.#lastFact || options.after > this.#last)) return { ok: false };
    const heard = options === undefined ? undefined : this.#heard;
    const answered = new Promise<{ ok: boolean }>((resolve, reject) => {
      this.#waiting.push({
        type: "submitted",
        decision: { facts, heard, taken, resolve, reject },
      });
    });
    this.#ship();
    return answered;
  }

  onOthers(take: (events: RunEvent[]) => void): void {
    this.#others = take;
    if (this.#unheard.length > 0) take(this.#unheard.splice(0));
  }

  /** A database is where it is; what it does when it is away, `#sent` says. */
  onMoved(): void {}

  async flush(): Promise<void> {
    while (this.#shipping !== undefined) await this.#shipping;
    if (this.#broken !== undefined) throw this.#broken;
  }

  putBlob(content: string): BlobRef {
    const clean = this.#options.lease.redact(content);
    const ref: BlobRef = `sha256:${createHash("sha256").update(clean).digest("hex")}`;
    this.#blobs.set(ref, clean);
    this.#ship();
    return ref;
  }

  async getBlob(ref: BlobRef): Promise<string | undefined> {
    return this.#blobs.get(ref) ?? readBlob(this.#database, this.#options.run, ref);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#unlisten();
    await this.flush();
  }

  #expectOpen(): void {
    this.#expectHeld();
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#closed) throw new Error("the journal is closed");
  }

  #expectHeld(): void {
    if (this.#options.holds?.() !== false) return;
    this.#broken ??= new LeaseLost("the lease was not renewed in time");
    throw this.#broken;
  }

  #clean(fact: Fact, seq: number, at: string): { event: RunEvent; body: string } {
    const { epoch, redact } = this.#options.lease;
    const written = { v: EVENT_VERSION, ...fact };
    const { clean, json } = cleaned(written, redact);
    const { v, ...rest } = clean;
    return { event: { v, seq, at, epoch, ...rest } as RunEvent, body: json };
  }

  /** As its holder counts: the highest number it was given. */
  #handed(events: readonly { type: FactType; seq: number }[]): void {
    this.#last = Math.max(this.#last, events.at(-1)?.seq ?? 0);
    this.#lastFact = Math.max(this.#lastFact, events.findLast(isFact)?.seq ?? 0);
  }

  /** Begins to ship, or sees to it that whoever ships looks once more. */
  #ship(): void {
    this.#shipping ??= this.#shipAll().finally(() => {
      this.#shipping = undefined;
      if (this.#broken === undefined && (this.#waiting.length > 0 || this.#blobs.size > 0)) this.#ship();
    });
    // Whoever flushes or submits is told.
    this.#shipping.catch(() => {});
  }

  async #shipAll(): Promise<void> {
    // What is appended in one go goes in one batch.
    await Promise.resolve();
    try {
      await this.#shipBlobs();
      while (this.#waiting.length > 0) {
        await this.#shipBatch();
        await this.#shipBlobs();
      }
      await this.#readOthers();
    } catch (error) {
      this.#broken = error;
      for (const waiting of this.#waiting.splice(0)) if (waiting.type === "submitted") waiting.decision.reject(error);
      throw error;
    }
  }

  async #shipBlobs(): Promise<void> {
    for (const [ref, content] of this.#blobs) {
      const hash = ref.slice("sha256:".length);
      await this.#sent("SELECT segno.put_blob($1, $2, $3)", [this.#options.run, hash, Buffer.from(content)]);
      this.#blobs.delete(ref);
    }
  }

  async #shipBatch(): Promise<void> {
    const first = this.#waiting[0] as Waiting;
    if (first.type === "submitted") {
      this.#waiting.shift();
      const { decision } = first;
      const sent = await this.#append(decision.facts, { heard: decision.heard }).catch((error: unknown) => {
        decision.reject(error);
        throw error;
      });
      try {
        if (sent !== undefined) {
          this.#handed(sent);
          decision.taken(sent);
        }
        decision.resolve({ ok: sent !== undefined });
      } catch (error) {
        decision.reject(error);
      }
      return;
    }
    const facts: Fact[] = [];
    for (
      let next = this.#waiting[0];
      next?.type === "appended" && facts.length < MOST_AT_ONCE;
      next = this.#waiting[0]
    ) {
      facts.push(next.fact);
      this.#waiting.shift();
    }
    await this.#append(facts, { onTheWay: facts.length });
  }

  /** The events as they stand there now; undefined where somebody was faster. */
  async #append(
    facts: readonly Fact[],
    { heard, onTheWay = 0 }: { heard?: number | undefined; onTheWay?: number },
  ): Promise<RunEvent[] | undefined> {
    if (heard !== undefined && heard !== this.#heard) return undefined;
    this.#expectHeld();
    const { run, scope, leased, lease } = this.#options;
    const cleaned = facts.map((fact) => this.#clean(fact, 0, ""));
    const [answer] = await this.#sent<{ outcome: string; first: string | null; at: string | null }>(
      "SELECT * FROM segno.append($1, $2, $3, $4, $5, $6, $7, $8, $9)",
      [
        run,
        heard === undefined ? null : this.#known,
        scope,
        lease.epoch,
        leased,
        this.#writer,
        ++this.#batch,
        cleaned.map(({ body }) => body),
        facts.map(isFact),
      ],
    );
    const { outcome, first, at } = answer as { outcome: string; first: string | null; at: string | null };
    if (outcome === "fenced")
      throw new LeaseLost(`the lease of ${scope === "" ? "the run" : `phase ${scope}`} is somebody else's now`);
    if (outcome === "gone") throw new Error(`the run ${run} is gone`);
    const from = Number(first);
    await this.#readOthers(from - 1);
    if (outcome === "conflict") return undefined;
    // Both at once: whoever appends in between counts on from them.
    this.#known = from + facts.length - 1;
    this.#onTheWay -= onTheWay;
    return cleaned.map(({ event }, n) => ({ ...event, seq: from + n, at: at as string }));
  }

  /** What others wrote up to this event, or at all. */
  async #readOthers(upTo?: number): Promise<void> {
    if (upTo !== undefined && upTo <= this.#known) return;
    const events = await this.#again(() => eventsAfter(this.#database, this.#options.run, this.#known, upTo));
    const last = events.at(-1);
    if (last === undefined) return;
    this.#known = last.seq;
    this.#handed(events);
    this.#heard += events.filter(isFact).length;
    this.#others(events);
  }

  #sent<Row>(sql: string, values: unknown[]): Promise<Row[]> {
    return this.#again(() => this.#database.query<Row>(sql, values));
  }

  /** A line that is cut is waited for: the lease, not the line, says when it is over. */
  async #again<T>(act: () => Promise<T>): Promise<T> {
    for (let n = 0; ; n++) {
      try {
        return await act();
      } catch (error) {
        if (!isLineLost(error) || this.#closed) throw error;
        await sleep(AGAIN_MS[Math.min(n, AGAIN_MS.length - 1)] as number);
      }
    }
  }
}
