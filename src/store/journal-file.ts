/**
 * The journal on one machine: a file of lines, written by one process at a time (it holds the run's lock).
 *
 * Invariants
 * 1. Lines are only ever appended, in the order of their sequence numbers.
 * 2. Every event is with the operating system when `append` returns, so a killed process loses none; it is on disk
 *    after `flush` or `submit`, and else within a moment, so a power cut loses at most that moment.
 * 3. Reading stops at the first damaged line: at the end of the file it is a torn write and cut, elsewhere an error.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { type BlobRef, EVENT_VERSION, type Fact, type FactType, type RunEvent } from "../run/event.js";
import { upcast } from "../run/upcast.js";
import { redactDeep } from "../secrets/redact.js";
import { readBlob, writeBlob } from "./blobs.js";
import { decodeLine, encodeLine } from "./line.js";
import { journalPath } from "./place.js";
import type { Journal, JournalRead, Lease } from "./store.js";

/** What the run is made of: the user's own plan and ids, which a run could not do without. Nothing agents said. */
const FRAME: ReadonlySet<FactType> = new Set(["run-started", "command-issued", "phase-started"]);
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

export class FileJournal implements Journal {
  readonly #folder: string;
  readonly #lease: Lease;
  readonly #now: () => Date;
  readonly #fd: number;
  readonly #watchers = new Set<(events: RunEvent[]) => void>();
  #seq: number;
  #sum: string;
  #last = "";
  #timer: NodeJS.Timeout | undefined;
  #length: number;
  /** What it ended with, if it can be written no more. */
  #broken: unknown;
  #dirty = false;
  /** The newest synchronisation that was begun. */
  #syncing: Promise<void> = Promise.resolve();
  #closed = false;
  readonly #whenClosed: () => void;

  constructor(
    folder: string,
    lease: Lease,
    at: { seq: number; sum: string; last: string },
    options: { now: () => Date; whenClosed: () => void },
  ) {
    this.#folder = folder;
    this.#lease = lease;
    this.#now = options.now;
    this.#whenClosed = options.whenClosed;
    this.#fd = openSync(journalPath(folder), "a");
    this.#length = fstatSync(this.#fd).size;
    this.#seq = at.seq;
    this.#sum = at.sum;
    this.#last = at.last;
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
    let at = this.#now().toISOString();
    // A clock that was set back does not turn the order of events round.
    if (at < this.#last) at = this.#last;
    const events: RunEvent[] = [];
    let lines = "";
    let sum = this.#sum;
    for (const fact of facts) {
      const seq = this.#seq + events.length + 1;
      const event = { v: EVENT_VERSION, seq, at, epoch: this.#lease.epoch, ...fact } as RunEvent;
      const clean = FRAME.has(event.type) ? event : redactDeep(event, this.#lease.redact);
      const encoded = encodeLine(clean, sum);
      events.push(clean);
      lines += encoded.line;
      sum = encoded.sum;
    }
    this.#write(Buffer.from(lines));
    this.#sum = sum;
    this.#seq += events.length;
    this.#last = at;
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

  /** All of it or none; after a failure nothing more is taken, so that what is there stays sound. */
  #write(bytes: Buffer): void {
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#fd, bytes, written);
      this.#length += bytes.length;
    } catch (error) {
      this.#broken = error;
      try {
        ftruncateSync(this.#fd, this.#length);
      } catch {
        // A torn end is cut when the journal is read.
      }
      throw error;
    }
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
    this.#syncing = Promise.all([this.#syncing, syncData(this.#fd)]).then(() => {});
    // Whoever flushes next is told; nobody may be waiting now.
    this.#syncing.catch(() => {});
  }

  /** What is written from here on. */
  watch(take: (events: RunEvent[]) => void): () => void {
    this.#watchers.add(take);
    return () => this.#watchers.delete(take);
  }

  putBlob(content: string): BlobRef {
    return writeBlob(this.#folder, this.#lease.redact(content));
  }

  getBlob(ref: BlobRef): Promise<string | undefined> {
    return readBlob(this.#folder, ref);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#whenClosed();
    // One that is under way still holds the file; what it could not write, the next line tells.
    await this.#syncing.catch(() => {});
    try {
      fdatasyncSync(this.#fd);
    } finally {
      closeSync(this.#fd);
    }
  }
}
