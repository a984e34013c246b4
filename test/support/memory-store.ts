/**
 * A second store, in memory: facts are shipped a moment after they were appended, and others may write meanwhile, as in
 * a store that lives elsewhere.
 */
import { createHash } from "node:crypto";
import { type Learned, NOTHING_LEARNED } from "../../src/context/forecast.js";
import { type BlobRef, EVENT_VERSION, type Fact, type RunEvent } from "../../src/run/event.js";
import { cleaned } from "../../src/store/cleaned.js";
import type { Address, Holder, Journal, JournalRead, Lease, Locked, Store, Watching } from "../../src/store/store.js";

interface Kept {
  events: RunEvent[];
  blobs: Map<string, string>;
  notes: Map<string, string>;
  watchers: Set<(events: RunEvent[]) => void>;
  holder: Holder | undefined;
  address: Address | undefined;
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class MemoryStore implements Store {
  readonly #runs = new Map<string, Kept>();
  readonly #learned = new Map<string, Learned>();
  readonly #now: () => Date;

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  #of(run: string): Kept {
    let kept = this.#runs.get(run);
    if (kept === undefined) {
      kept = {
        events: [],
        blobs: new Map(),
        notes: new Map(),
        watchers: new Set(),
        holder: undefined,
        address: undefined,
      };
      this.#runs.set(run, kept);
    }
    return kept;
  }

  async list(): Promise<string[]> {
    return [...this.#runs]
      .filter(([, { events }]) => events.length > 0)
      .map(([run]) => run)
      .sort()
      .reverse();
  }

  async read(run: string): Promise<JournalRead> {
    const kept = this.#runs.get(run);
    if (kept === undefined) return { ok: false, where: "memory", line: 0, why: "it is not there", events: [] };
    return { ok: true, events: [...kept.events], torn: 0 };
  }

  async watch(run: string, take: (events: RunEvent[]) => void): Promise<Watching> {
    const { events, watchers } = this.#of(run);
    if (events.length > 0) take([...events]);
    watchers.add(take);
    return { stop: () => watchers.delete(take) };
  }

  async version(run: string): Promise<string> {
    return String(this.#of(run).events.length);
  }

  async getBlob(run: string, ref: BlobRef): Promise<string | undefined> {
    return this.#of(run).blobs.get(ref);
  }

  async lock(run: string): Promise<Locked> {
    const kept = this.#of(run);
    if (kept.holder !== undefined) return { ok: false, what: "run", holder: kept.holder };
    const since = this.#now().toISOString();
    kept.holder = { pid: process.pid, started: "", boot: "", host: "memory", since, run };
    return {
      ok: true,
      lock: {
        release: () => {
          kept.holder = undefined;
        },
      },
    };
  }

  async holder(run: string): Promise<Holder | undefined> {
    return this.#of(run).holder;
  }

  async waitsForAnyone(): Promise<boolean> {
    return false;
  }

  async checkoutHolder(): Promise<Holder | undefined> {
    return [...this.#runs.values()].find(({ holder }) => holder !== undefined)?.holder;
  }

  async create(run: string, lease: Lease): Promise<Journal> {
    return new MemoryJournal(this.#of(run), lease, this.#now);
  }

  async open(run: string, lease: Lease): Promise<Journal> {
    return new MemoryJournal(this.#of(run), lease, this.#now);
  }

  async steer(): Promise<undefined> {
    return undefined;
  }

  async remove(run: string): Promise<void> {
    this.#runs.delete(run);
  }

  async setAddress(run: string, address: Address | undefined): Promise<void> {
    this.#of(run).address = address;
  }

  async address(run: string): Promise<Address | undefined> {
    return this.#of(run).address;
  }

  async learned(agent: string): Promise<Learned> {
    return this.#learned.get(agent) ?? NOTHING_LEARNED;
  }

  async learn(agent: string, more: Learned): Promise<void> {
    const { firstPrompts, samples } = await this.learned(agent);
    this.#learned.set(agent, {
      firstPrompts: [...firstPrompts, ...more.firstPrompts],
      samples: [...samples, ...more.samples],
    });
  }

  async leaveNote(run: string, name: string, text: string): Promise<void> {
    this.#of(run).notes.set(name, text);
  }

  async note(run: string, name: string): Promise<{ text: string; at: string } | undefined> {
    const text = this.#of(run).notes.get(name);
    return text === undefined ? undefined : { text, at: this.#now().toISOString() };
  }

  where(run: string): string {
    return `memory: ${run}`;
  }
}

class MemoryJournal implements Journal {
  readonly #kept: Kept;
  readonly #lease: Lease;
  readonly #now: () => Date;
  #shipping: Promise<void> = Promise.resolve();
  #others: (events: RunEvent[]) => void = () => {};
  /** How many of the run's events its holder knows, and how many of its own are on their way. */
  #known: number;
  #onTheWay = 0;
  #closed = false;

  constructor(kept: Kept, lease: Lease, now: () => Date) {
    this.#kept = kept;
    this.#lease = lease;
    this.#now = now;
    this.#known = kept.events.length;
  }

  #stamp(fact: Fact, seq: number): RunEvent {
    const last = this.#kept.events.at(-1)?.at ?? "";
    let at = this.#now().toISOString();
    if (at < last) at = last;
    const event = { v: EVENT_VERSION, seq, at, epoch: this.#lease.epoch, ...fact } as RunEvent;
    return cleaned(event, this.#lease.redact).clean;
  }

  #ship(facts: readonly Fact[]): RunEvent[] {
    this.#tellOthers();
    const events: RunEvent[] = [];
    for (const fact of facts) {
      const event = this.#stamp(fact, this.#kept.events.length + 1);
      this.#kept.events.push(event);
      events.push(event);
    }
    this.#known = this.#kept.events.length;
    for (const watcher of this.#kept.watchers) {
      try {
        watcher(events);
      } catch {
        this.#kept.watchers.delete(watcher);
      }
    }
    return events;
  }

  #tellOthers(): void {
    const missed = this.#kept.events.slice(this.#known);
    this.#known = this.#kept.events.length;
    if (missed.length > 0) this.#others(missed);
  }

  append(facts: readonly Fact[]): RunEvent[] {
    this.#expectOpen();
    const from = this.#known + this.#onTheWay;
    this.#onTheWay += facts.length;
    const provisional = facts.map((fact, n) => ({
      ...this.#stamp(fact, from + n + 1),
      provisional: true as const,
    }));
    this.#shipping = this.#shipping.then(soon).then(() => {
      this.#onTheWay -= facts.length;
      this.#ship(facts);
    });
    return provisional;
  }

  async submit(
    facts: readonly Fact[],
    taken: (events: RunEvent[]) => void,
    options?: { after: number },
  ): Promise<{ ok: boolean }> {
    this.#expectOpen();
    let ok = true;
    this.#shipping = this.#shipping.then(soon).then(() => {
      const elsewhere = this.#kept.events.length > this.#known;
      this.#tellOthers();
      ok = options === undefined || (!elsewhere && options.after === this.#kept.events.length);
      if (ok) taken(this.#ship(facts));
    });
    await this.#shipping;
    return { ok };
  }

  onOthers(take: (events: RunEvent[]) => void): void {
    this.#others = take;
  }

  /** Memory is always where it was. */
  onMoved(): void {}

  flush(): Promise<void> {
    return this.#shipping;
  }

  putBlob(content: string): BlobRef {
    const clean = this.#lease.redact(content);
    const ref: BlobRef = `sha256:${createHash("sha256").update(clean).digest("hex")}`;
    this.#kept.blobs.set(ref, clean);
    return ref;
  }

  async getBlob(ref: BlobRef): Promise<string | undefined> {
    return this.#kept.blobs.get(ref);
  }

  #expectOpen(): void {
    if (this.#closed) throw new Error("the journal is closed");
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#shipping;
  }
}
