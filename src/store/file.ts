/**
 * The journal on one machine: a folder per run with `journal.jsonl` and `blobs/`.
 *
 * Invariants
 * 1. Lines are only ever appended, in the order of their sequence numbers.
 * 2. Every event is with the operating system when `append` returns, so a killed process loses none; a durable one is
 *    on disk (fsync), and observations follow in groups, so a power cut loses at most the last moment's observations.
 * 3. Reading stops at the first damaged line: at the end of the file it is a torn write and cut, elsewhere an error.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type BlobRef, EVENT_VERSION, type Fact, type FactType, type RunEvent } from "../run/event.js";
import type { Appended, Journal } from "./journal.js";
import { decodeLine, encodeLine } from "./line.js";
import { type Redact, redactDeep } from "./redact.js";

/** What the run is made of: the user's own plan, paths and ids, which a run could not do without. Nothing agents said. */
const FRAME: ReadonlySet<FactType> = new Set(["run-started", "command-issued", "phase-started"]);
const GROUP_MS = 200;

export type JournalRead =
  | { ok: true; events: RunEvent[]; bytes: number; sum: string; torn: number }
  | { ok: false; line: number; why: string; events: RunEvent[] };

export const journalPath = (folder: string): string => join(folder, "journal.jsonl");

export function readJournal(folder: string): JournalRead {
  const data = readFileSync(journalPath(folder));
  const events: RunEvent[] = [];
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
      return { ok: false, line: events.length + 1, why: problem ?? "", events };
    }
    events.push(decoded.event);
    sum = decoded.sum;
    from = newline + 1;
  }
  return { ok: true, events, bytes: from, sum, torn: 0 };
}

function judge(event: RunEvent, line: number): string | undefined {
  if (event.v > EVENT_VERSION) {
    return `it has version ${event.v}, and this Segno knows versions up to ${EVENT_VERSION}: a newer Segno wrote it`;
  }
  return event.seq === line ? undefined : `it has sequence number ${event.seq} where ${line} was expected`;
}

export interface FileJournalOptions {
  epoch: number;
  redact: Redact;
  now: () => Date;
}

export function createJournal(folder: string, options: FileJournalOptions): Journal {
  mkdirSync(join(folder, "blobs"), { recursive: true });
  return new FileJournal(folder, options, { seq: 0, sum: "" });
}

/** Goes on with a journal that was read before; a torn end is cut off. */
export function openJournal(
  folder: string,
  options: FileJournalOptions,
  read: Extract<JournalRead, { ok: true }>,
): Journal {
  const fd = openSync(journalPath(folder), "r+");
  try {
    if (read.torn > 0) ftruncateSync(fd, read.bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return new FileJournal(folder, options, { seq: read.events.length, sum: read.sum });
}

class FileJournal implements Journal {
  readonly #folder: string;
  readonly #options: FileJournalOptions;
  readonly #fd: number;
  #seq: number;
  #sum: string;
  #timer: NodeJS.Timeout | undefined;
  #length: number;
  #broken: unknown;

  constructor(folder: string, options: FileJournalOptions, at: { seq: number; sum: string }) {
    this.#folder = folder;
    this.#options = options;
    this.#fd = openSync(journalPath(folder), "a");
    this.#length = fstatSync(this.#fd).size;
    this.#seq = at.seq;
    this.#sum = at.sum;
  }

  append(expectedSeq: number, facts: readonly Fact[], { durable }: { durable: boolean }): Appended {
    if (this.#broken !== undefined) throw this.#broken;
    if (expectedSeq !== this.#seq) return { ok: false, conflict: true };
    const at = this.#options.now().toISOString();
    const events = facts.map((fact, index) => {
      const event = {
        v: EVENT_VERSION,
        seq: expectedSeq + index + 1,
        at,
        epoch: this.#options.epoch,
        ...fact,
      } as RunEvent;
      return FRAME.has(event.type) ? event : redactDeep(event, this.#options.redact);
    });
    let lines = "";
    let sum = this.#sum;
    for (const event of events) {
      const encoded = encodeLine(event, sum);
      lines += encoded.line;
      sum = encoded.sum;
    }
    this.#write(Buffer.from(lines));
    this.#sum = sum;
    this.#seq += events.length;
    if (durable) this.#sync();
    else this.#timer ??= setTimeout(() => this.#syncSoon(), GROUP_MS);
    return { ok: true, events };
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

  #sync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    fdatasyncSync(this.#fd);
  }

  #syncSoon(): void {
    this.#timer = undefined;
    // An error here will show itself, with a caller to tell, at the next durable event.
    fdatasync(this.#fd, () => {});
  }

  putBlob(content: string): BlobRef {
    const clean = this.#options.redact(content);
    const hash = createHash("sha256").update(clean).digest("hex");
    const path = join(this.#folder, "blobs", hash);
    if (!existsSync(path)) {
      const fd = openSync(`${path}.part`, "w");
      writeSync(fd, clean);
      fsyncSync(fd);
      closeSync(fd);
      renameSync(`${path}.part`, path);
    }
    return `sha256:${hash}`;
  }

  getBlob(ref: BlobRef): string | undefined {
    return readBlob(this.#folder, ref);
  }

  close(): void {
    try {
      this.#sync();
    } finally {
      closeSync(this.#fd);
    }
  }
}

/** Undefined where it is gone or not what its name says. */
export function readBlob(folder: string, ref: BlobRef): string | undefined {
  const hash = ref.slice("sha256:".length);
  if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
  const path = join(folder, "blobs", hash);
  if (!existsSync(path)) return undefined;
  const content = readFileSync(path, "utf8");
  return createHash("sha256").update(content).digest("hex") === hash ? content : undefined;
}
