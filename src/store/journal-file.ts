/**
 * The journal on one machine: a file of lines, written by one process at a time (it holds the run's lock).
 *
 * Invariants
 * 1. Lines are only ever appended, in the order of their sequence numbers.
 * 2. Every event is with the operating system when `append` returns, so a killed process loses none; it is on disk
 *    after `flush` or `submit`, and else within a moment, so a power cut loses at most that moment.
 * 3. Reading stops at the first damaged line: at the end of the file it is a torn write and cut, elsewhere an error.
 * 4. A file that was deleted, or a place that takes nothing more, is noticed at the next synchronisation or write: all
 *    that was written goes to a new place, and it goes on there. Only where there is none is it broken, for good.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { type BlobRef, EVENT_VERSION, type Fact, type RunEvent } from "../run/event.js";
import { upcast } from "../run/upcast.js";
import { writeWhole } from "./atomic.js";
import { Blobs } from "./blobs.js";
import { cleaned } from "./cleaned.js";
import { decodeLine, encodeLine } from "./line.js";
import { journalPath } from "./place.js";
import type { Journal, JournalRead, Lease, Moved } from "./store.js";

const GROUP_MS = 200;

const syncData = promisify(fdatasync);

/** A journal that was read, and where its next line begins. */
export type FileRead =
  | { ok: true; events: RunEvent[]; torn: number; bytes: number; sum: string }
  | Extract<JournalRead, { ok: false }>;

export function readJournalFile(folder: string): FileRead {
  const where = journalPath(folder);
  const events: RunEvent[] = [];
  let data: Buffer;
  try {
    data = readFileSync(where);
  } catch (error) {
    return { ok: false, where, line: 0, why: `it cannot be read (${(error as NodeJS.ErrnoException).code})`, events };
  }
  let sum = "";
  let from = 0;
  while (from < data.length) {
    const newline = data.indexOf(10, from);
    const decoded = newline < 0 ? undefined : decodeLine(data.toString("utf8", from, newline), sum);
    const problem =
      decoded === undefined ? "it is not what was written there" : judge(decoded.event, events.length + 1);
    if (decoded === undefined || problem !== undefined) {
      // Nothing after it can be checked against it; whether it is the torn end or damage, what follows tells.
      const isLast = newline < 0 || newline === data.length - 1;
      if (isLast && decoded === undefined) return { ok: true, events, bytes: from, sum, torn: data.length - from };
      return { ok: false, where, line: events.length + 1, why: problem ?? "", events };
    }
    events.push(upcast(decoded.event));
    sum = decoded.sum;
    from = newline + 1;
  }
  return { ok: true, events, bytes: from, sum, torn: 0 };
}

function judge(event: { v: number; seq: number }, line: number): string | undefined {
  if (event.v > EVENT_VERSION) {
    return `it has version ${event.v}, and this Segno knows versions up to ${EVENT_VERSION}: a newer Segno wrote it`;
  }
  return event.seq === line ? undefined : `it has sequence number ${event.seq} where ${line} was expected`;
}

/** Cuts a torn end off, so that lines can be added. */
export function cutTornEnd(folder: string, read: Extract<FileRead, { ok: true }>): void {
  const fd = openSync(journalPath(folder), "r+");
  try {
    if (read.torn > 0) ftruncateSync(fd, read.bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export interface FileJournalOptions {
  now: () => Date;
  whenClosed: () => void;
  /** Where it may go on, best first; asked when it is needed. */
  refuges: () => string[];
  whenMoved: (folder: string) => void;
}

export class FileJournal implements Journal {
  readonly #lease: Lease;
  readonly #options: FileJournalOptions;
  readonly #blobs: Blobs;
  readonly #watchers = new Set<(events: RunEvent[]) => void>();
  readonly #movedListeners: ((moved: Moved) => void)[] = [];
  #folder: string;
  #fd: number;
  #ino: number;
  #seq: number;
  #sum: string;
  /** When the last event was, in both ways: many come in one millisecond. */
  #last = "";
  #lastMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #length: number;
  /** What it ended with, if it can be written no more. */
  #broken: unknown;
  #dirty = false;
  /** The newest synchronisation that was begun. */
  #syncing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    folder: string,
    lease: Lease,
    at: { seq: number; sum: string; last: string },
    options: FileJournalOptions,
  ) {
    this.#folder = folder;
    this.#blobs = new Blobs(folder);
    this.#lease = lease;
    this.#options = options;
    this.#fd = openSync(journalPath(folder), "a+");
    const { size, ino } = fstatSync(this.#fd);
    this.#length = size;
    this.#ino = ino;
    this.#seq = at.seq;
    this.#sum = at.sum;
    this.#last = at.last;
    if (at.last !== "") this.#lastMs = Date.parse(at.last);
  }

  append(facts: readonly Fact[]): RunEvent[] {
    const events = this.#place(facts);
    this.#timer ??= setTimeout(() => this.#sync(), GROUP_MS);
    return events;
  }

  async submit(
    facts: readonly Fact[],
    taken: (events: RunEvent[]) => void,
    options?: { after: number },
  ): Promise<{ ok: boolean }> {
    if (options !== undefined && options.after !== this.#seq) return { ok: false };
    taken(this.#place(facts));
    await this.flush();
    return { ok: true };
  }

  /** Nobody else writes: the lock sees to that. */
  onOthers(): void {}

  #place(facts: readonly Fact[]): RunEvent[] {
    if (this.#broken !== undefined) throw this.#broken;
    // Its descriptor may be another file's by now.
    if (this.#closed) throw new Error("the journal is closed");
    const now = this.#options.now();
    const ms = now.getTime();
    // A clock that was set back does not turn the order of events round.
    const at = ms > this.#lastMs ? now.toISOString() : this.#last;
    const events: RunEvent[] = [];
    let lines = "";
    let sum = this.#sum;
    for (const fact of facts) {
      const seq = this.#seq + events.length + 1;
      const event = { v: EVENT_VERSION, seq, at, epoch: this.#lease.epoch, ...fact } as RunEvent;
      const { clean, json } = cleaned(event, this.#lease.redact);
      const encoded = encodeLine(json, sum);
      events.push(clean);
      lines += encoded.line;
      sum = encoded.sum;
    }
    this.#write(Buffer.from(lines));
    this.#sum = sum;
    this.#seq += events.length;
    this.#last = at;
    this.#lastMs = Math.max(ms, this.#lastMs);
    this.#dirty = true;
    for (const watcher of this.#watchers) {
      try {
        watcher(events);
      } catch {
        // Whoever only looks must not keep the run from being written.
        this.#watchers.delete(watcher);
      }
    }
    return events;
  }

  /** All of it or none; where nothing can be written any more nothing more is taken, so that what is there stays sound. */
  #write(bytes: Buffer): void {
    try {
      this.#writeAll(bytes);
    } catch (error) {
      this.#goOnElsewhere(error);
      try {
        this.#writeAll(bytes);
      } catch (again) {
        this.#broken = again;
        throw again;
      }
    }
  }

  #writeAll(bytes: Buffer): void {
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#fd, bytes, written);
      this.#length += bytes.length;
    } catch (error) {
      try {
        ftruncateSync(this.#fd, this.#length);
      } catch {
        // A torn end is cut when the journal is read.
      }
      throw error;
    }
  }

  /** All that was written goes to a new place; throws, and is broken from then on, where there is none. */
  #goOnElsewhere(cause: unknown): void {
    const all = this.#readAll();
    const from = this.#folder;
    const gone = !this.#isThere();
    const elsewhere = this.#options.refuges().filter((folder) => folder !== from);
    for (const folder of all === undefined ? [] : [...(gone ? [from] : []), ...elsewhere]) {
      try {
        mkdirSync(folder, { recursive: true });
        this.#blobs.moveTo(folder);
        // Whole or not at all: half of one would be taken for the run.
        writeWhole(journalPath(folder), all as Buffer);
        this.#fd = openSync(journalPath(folder), "a+");
        this.#ino = fstatSync(this.#fd).ino;
        this.#folder = folder;
        this.#options.whenMoved(folder);
      } catch {
        continue;
      }
      const why = gone ? "it was deleted" : `it can no longer be written (${(cause as NodeJS.ErrnoException).code})`;
      // After whatever is being written now.
      queueMicrotask(() => {
        for (const listener of this.#movedListeners) listener({ why, where: folder });
      });
      return;
    }
    this.#broken = cause ?? new Error(`the journal ${journalPath(from)} is gone, and cannot be written anew`);
    throw this.#broken;
  }

  /** A file that was deleted is still there for whoever holds it open. */
  #readAll(): Buffer | undefined {
    const all = Buffer.allocUnsafe(this.#length);
    try {
      for (let at = 0; at < all.length; ) {
        const read = readSync(this.#fd, all, at, all.length - at, at);
        if (read === 0) return undefined;
        at += read;
      }
      return all;
    } catch {
      try {
        return readFileSync(journalPath(this.#folder)).subarray(0, this.#length);
      } catch {
        return undefined;
      }
    }
  }

  #isThere(): boolean {
    try {
      return statSync(journalPath(this.#folder), { throwIfNoEntry: false })?.ino === this.#ino;
    } catch (error) {
      // A file stands where its folder was.
      if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
      throw error;
    }
  }

  onMoved(listener: (moved: Moved) => void): void {
    this.#movedListeners.push(listener);
  }

  async flush(): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#closed) return;
    if (this.#dirty) this.#sync();
    // Also what somebody else began: until it is over nothing is safe.
    await this.#syncing;
  }

  #sync(): void {
    this.#dirty = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#syncing = Promise.all([this.#syncing, this.#keep()]).then(() => {});
    // Whoever flushes next is told; nobody may be waiting now.
    this.#syncing.catch(() => {});
  }

  /** On disk, and still where it is looked for. */
  async #keep(): Promise<void> {
    try {
      await syncData(this.#fd);
      if (this.#closed || this.#isThere()) return;
    } catch (error) {
      return this.#goOnElsewhere(error);
    }
    this.#goOnElsewhere(undefined);
  }

  /** What is written from here on. */
  watch(take: (events: RunEvent[]) => void): () => void {
    this.#watchers.add(take);
    return () => this.#watchers.delete(take);
  }

  putBlob(content: string): BlobRef {
    const clean = this.#lease.redact(content);
    try {
      return this.#blobs.put(clean);
    } catch (error) {
      this.#goOnElsewhere(error);
      return this.#blobs.put(clean);
    }
  }

  getBlob(ref: BlobRef): Promise<string | undefined> {
    return this.#blobs.get(ref);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#options.whenClosed();
    // One that is under way still holds the file; what it could not write, the next line tells.
    await this.#syncing.catch(() => {});
    try {
      fdatasyncSync(this.#fd);
    } finally {
      closeSync(this.#fd);
    }
  }
}
