/** Runs on one machine: a folder per run with its journal, its blobs and where its holder can be spoken to. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Learned } from "../context/forecast.js";
import type { BlobRef, RunEvent } from "../run/event.js";
import { writeWhole } from "./atomic.js";
import { blobsFolder, readBlob } from "./blobs.js";
import { JournalReader } from "./follow.js";
import { cutTornEnd, FileJournal, type FileRead, readJournalFile } from "./journal-file.js";
import { addLearned, readLearned } from "./learned.js";
import { holderOf, takeLock } from "./lock.js";
import { journalPath, moveOldRuns, type Places, placesOf, runsIn } from "./place.js";
import type { Address, Holder, Journal, JournalRead, Lease, Lock, Locked, Store, Watching } from "./store.js";

const RUN_LOCK = "lock";
const CHECKOUT_LOCK = "checkout-lock";
const LOOK_MS = 200;

/** What this process wrote beside a journal, and must write again where that has to move. */
interface Beside {
  locks: { run: Lock; checkout: Lock } | undefined;
  address: Address | undefined;
}

export class FileStore implements Store {
  readonly #places: Places;
  readonly #now: () => Date;
  /** Journals that this process writes. */
  readonly #open = new Map<string, FileJournal>();
  readonly #beside = new Map<string, Beside>();

  constructor(top: string, now: () => Date = () => new Date()) {
    this.#places = placesOf(top);
    this.#now = now;
    try {
      moveOldRuns(top, this.#places.shared, (folder) => holderOf(folder, RUN_LOCK) !== undefined);
    } catch {
      // They stay where they are; the next one who looks tries again.
    }
  }

  /** Where it is now: one whose place was lost has gone on elsewhere. */
  #folder(run: string): string {
    const moved = join(runsIn(this.#places.refuge), run);
    return existsSync(journalPath(moved)) ? moved : join(runsIn(this.#places.shared), run);
  }

  async list(): Promise<string[]> {
    const { shared, refuge } = this.#places;
    const found = [shared, refuge].map(runsIn).flatMap((folder) => {
      if (!existsSync(folder)) return [];
      return readdirSync(folder).filter((name) => existsSync(journalPath(join(folder, name))));
    });
    return [...new Set(found)].sort().reverse();
  }

  async read(run: string): Promise<JournalRead> {
    return readJournalFile(this.#folder(run));
  }

  async watch(run: string, take: (events: RunEvent[]) => void): Promise<Watching> {
    const reader = new JournalReader(() => journalPath(this.#folder(run)));
    const look = () => {
      const events = reader.read();
      if (events.length > 0) take(events);
    };
    look();
    const own = this.#open.get(run);
    if (own !== undefined) return { stop: own.watch(take) };
    const timer = setInterval(look, LOOK_MS);
    return { stop: () => clearInterval(timer) };
  }

  async version(run: string): Promise<string> {
    const { size, mtimeMs } = statSync(journalPath(this.#folder(run)), { throwIfNoEntry: false }) ?? {
      size: 0,
      mtimeMs: 0,
    };
    return `${size}:${mtimeMs}`;
  }

  getBlob(run: string, ref: BlobRef): Promise<string | undefined> {
    return readBlob(this.#folder(run), ref);
  }

  async lock(run: string): Promise<Locked> {
    const own = this.#take(this.#folder(run), RUN_LOCK, run);
    if (!own.ok) return { ok: false, what: "run", holder: own.holder };
    const checkout = this.#take(this.#places.own, CHECKOUT_LOCK, run);
    if (!checkout.ok) {
      own.lock.release();
      return { ok: false, what: "checkout", holder: checkout.holder };
    }
    const locks = { run: own.lock, checkout: checkout.lock };
    this.#besideOf(run).locks = locks;
    const release = () => {
      locks.checkout.release();
      locks.run.release();
      this.#besideOf(run).locks = undefined;
    };
    return { ok: true, lock: { release } };
  }

  #take = (folder: string, name: string, run: string) => takeLock(folder, name, run, new Date());

  #besideOf(run: string): Beside {
    const known = this.#beside.get(run) ?? { locks: undefined, address: undefined };
    this.#beside.set(run, known);
    return known;
  }

  /** Its journal goes on in this folder: whoever looks for its holder must find it there. */
  #moved(run: string, folder: string): void {
    const { locks, address } = this.#besideOf(run);
    if (locks !== undefined) {
      const own = this.#take(folder, RUN_LOCK, run);
      if (own.ok) locks.run = own.lock;
      try {
        const checkout = this.#take(this.#places.own, CHECKOUT_LOCK, run);
        if (checkout.ok) locks.checkout = checkout.lock;
      } catch {
        // Where nothing can be written nobody else can take it, either.
      }
    }
    if (address !== undefined) writeWhole(addressPath(folder), JSON.stringify(address), { mode: 0o600 });
  }

  async holder(run: string): Promise<Holder | undefined> {
    return holderOf(this.#folder(run), RUN_LOCK);
  }

  async waitsForAnyone(): Promise<boolean> {
    return false;
  }

  async checkoutHolder(): Promise<Holder | undefined> {
    return holderOf(this.#places.own, CHECKOUT_LOCK);
  }

  async create(run: string, lease: Lease): Promise<Journal> {
    mkdirSync(blobsFolder(this.#folder(run)), { recursive: true });
    return this.#opened(run, lease, { seq: 0, sum: "", last: "" });
  }

  async open(run: string, lease: Lease, after: Extract<JournalRead, { ok: true }>): Promise<Journal> {
    const read = after as Extract<FileRead, { ok: true }>;
    cutTornEnd(this.#folder(run), read);
    const last = read.events.at(-1)?.at ?? "";
    return this.#opened(run, lease, { seq: read.events.length, sum: read.sum, last });
  }

  #opened(run: string, lease: Lease, at: { seq: number; sum: string; last: string }): Journal {
    const journal = new FileJournal(this.#folder(run), lease, at, {
      now: this.#now,
      whenClosed: () => this.#open.delete(run),
      refuges: () => [join(runsIn(this.#places.refuge), run)],
      whenMoved: (folder) => this.#moved(run, folder),
    });
    this.#open.set(run, journal);
    return journal;
  }

  /** One writer: whoever holds it is asked. */
  async steer(): Promise<undefined> {
    return undefined;
  }

  async remove(run: string): Promise<void> {
    const { shared, refuge } = this.#places;
    for (const place of [refuge, shared]) rmSync(join(runsIn(place), run), { recursive: true, force: true });
  }

  async setAddress(run: string, address: Address | undefined): Promise<void> {
    const path = addressPath(this.#folder(run));
    this.#besideOf(run).address = address;
    if (address === undefined) return rmSync(path, { force: true });
    mkdirSync(this.#folder(run), { recursive: true });
    writeWhole(path, JSON.stringify(address), { mode: 0o600 });
  }

  async address(run: string): Promise<Address | undefined> {
    try {
      return JSON.parse(readFileSync(addressPath(this.#folder(run)), "utf8")) as Address;
    } catch {
      return undefined;
    }
  }

  async learned(agent: string): Promise<Learned> {
    return readLearned(this.#places.shared, agent);
  }

  async learn(agent: string, more: Learned): Promise<void> {
    addLearned(this.#places.shared, agent, more);
  }

  async leaveNote(run: string, name: string, text: string): Promise<void> {
    writeWhole(join(this.#folder(run), name), text);
  }

  async note(run: string, name: string): Promise<{ text: string; at: string } | undefined> {
    const path = join(this.#folder(run), name);
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined ? undefined : { text: readFileSync(path, "utf8"), at: found.mtime.toISOString() };
  }

  where(run: string): string {
    return journalPath(this.#folder(run));
  }
}

const addressPath = (folder: string): string => join(folder, "door.json");
