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
import { journalPath, runFolder, runsFolder, sharedFolder } from "./place.js";
import type { Address, Holder, Journal, JournalRead, Lease, Locked, Store, Watching } from "./store.js";

const RUN_LOCK = "lock";
const CHECKOUT_LOCK = "checkout-lock";
const LOOK_MS = 200;

export class FileStore implements Store {
  readonly #top: string;
  readonly #now: () => Date;
  /** Journals that this process writes. */
  readonly #open = new Map<string, FileJournal>();

  constructor(top: string, now: () => Date = () => new Date()) {
    this.#top = top;
    this.#now = now;
  }

  #folder(run: string): string {
    return runFolder(this.#top, run);
  }

  async list(): Promise<string[]> {
    const folder = runsFolder(this.#top);
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter((name) => existsSync(journalPath(join(folder, name))))
      .sort()
      .reverse();
  }

  async read(run: string): Promise<JournalRead> {
    return readJournalFile(this.#folder(run));
  }

  async watch(run: string, take: (events: RunEvent[]) => void): Promise<Watching> {
    const reader = new JournalReader(journalPath(this.#folder(run)));
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
    const now = new Date();
    const own = takeLock(this.#folder(run), RUN_LOCK, run, now);
    if (!own.ok) return { ok: false, what: "run", holder: own.holder };
    const checkout = takeLock(sharedFolder(this.#top), CHECKOUT_LOCK, run, now);
    if (!checkout.ok) {
      own.lock.release();
      return { ok: false, what: "checkout", holder: checkout.holder };
    }
    const release = () => {
      checkout.lock.release();
      own.lock.release();
    };
    return { ok: true, lock: { release } };
  }

  async holder(run: string): Promise<Holder | undefined> {
    return holderOf(this.#folder(run), RUN_LOCK);
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
    const whenClosed = () => this.#open.delete(run);
    const journal = new FileJournal(this.#folder(run), lease, at, { now: this.#now, whenClosed });
    this.#open.set(run, journal);
    return journal;
  }

  async remove(run: string): Promise<void> {
    rmSync(this.#folder(run), { recursive: true, force: true });
  }

  async setAddress(run: string, address: Address | undefined): Promise<void> {
    const path = addressPath(this.#folder(run));
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
    return readLearned(sharedFolder(this.#top), agent);
  }

  async learn(agent: string, more: Learned): Promise<void> {
    addLearned(sharedFolder(this.#top), agent, more);
  }

  async leaveNote(run: string, name: string, text: string): Promise<void> {
    writeWhole(join(this.#folder(run), name), text);
  }

  where(run: string): string {
    return journalPath(this.#folder(run));
  }
}

const addressPath = (folder: string): string => join(folder, "door.json");
