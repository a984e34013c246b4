/**
 * The store port: where runs live, whoever conducts them and on which machine.
 *
 * An implementer must
 * - give every event of a run a number, without gaps, in the order in which readers see them, and stamp its time by its
 *   own clock, never earlier than the event before it;
 * - append all facts of a call or none;
 * - redact what is written (`redact`), but for what a run is made of;
 * - keep blobs by the hash of their content, and verify it when they are read;
 * - hand out events of older versions as this one writes them, and refuse newer ones in words;
 * - never throw for what it was asked to read: a run that is gone, damaged or unreadable is a value;
 * - go on in another place, and say so, where the one it has is deleted or takes nothing more, if there is any.
 */
import type { Learned } from "../context/forecast.js";
import type { BlobRef, Fact, RunEvent } from "../run/event.js";
import type { Redact } from "../secrets/redact.js";

export type JournalRead =
  /** `torn`: bytes at its end that were never whole. */
  | { ok: true; events: RunEvent[]; torn: number }
  | { ok: false; where: string; line: number; why: string; events: RunEvent[] };

/** Who holds a run, or the checkout it works in. */
export interface Holder {
  pid: number;
  started: string;
  boot: string;
  host: string;
  since: string;
  run: string;
}

export interface Lock {
  release(): void;
}

export type Locked = { ok: true; lock: Lock } | { ok: false; what: "run" | "checkout"; holder: Holder };

/** Where the process that holds a run can be spoken to. */
export interface Address {
  url: string;
  token: string;
  pid: number;
  run: string;
}

/** Under which lease a journal is written. */
export interface Lease {
  epoch: number;
  redact: Redact;
}

/** The journal had to go on in another place, or in the same one anew. */
export interface Moved {
  why: string;
  where: string;
}

/** A journal to write to, and what is in it. */
export interface Joined {
  journal: Journal;
  events: RunEvent[];
  epoch: number;
}

export interface Watching {
  stop(): void;
}

export interface Store {
  /** Runs, newest first. */
  list(): Promise<string[]>;
  read(run: string): Promise<JournalRead>;
  /** Hands over what is there, and what comes, in order, until it is stopped. What this process writes comes at once. */
  watch(run: string, take: (events: RunEvent[]) => void): Promise<Watching>;
  /** A text that differs whenever the run's journal does. */
  version(run: string): Promise<string>;
  getBlob(run: string, ref: BlobRef): Promise<string | undefined>;
  /** Makes this process the only one that may write the run, and the only one in its checkout. */
  lock(run: string): Promise<Locked>;
  /** Who holds it now, if anyone alive does. */
  holder(run: string): Promise<Holder | undefined>;
  /** Whether a run that nobody holds waits for whoever comes, as a team's does: elsewhere it was left, and is taken up by hand. */
  waitsForAnyone(run: string): Promise<boolean>;
  /** Who works in this checkout now, if anyone alive does. */
  checkoutHolder(): Promise<Holder | undefined>;
  create(run: string, lease: Lease): Promise<Journal>;
  /** Goes on with a journal, under its lock: `after` is what `read` gave then. A torn end is cut off. */
  open(run: string, lease: Lease, after: Extract<JournalRead, { ok: true }>): Promise<Journal>;
  /**
   * For who holds nothing and has something to say: a journal to write to, as it is now. Undefined where only its holder
   * writes, who is then to be asked.
   */
  steer(run: string, redact: Redact): Promise<Joined | undefined>;
  remove(run: string): Promise<void>;
  /** Undefined takes it away. */
  setAddress(run: string, address: Address | undefined): Promise<void>;
  address(run: string): Promise<Address | undefined>;
  learned(agent: string): Promise<Learned>;
  learn(agent: string, more: Learned): Promise<void>;
  /** A text for people, beside the run; nothing is decided by it. */
  leaveNote(run: string, name: string, text: string): Promise<void>;
  note(run: string, name: string): Promise<{ text: string; at: string } | undefined>;
  /** Where the journal is, in words for people. */
  where(run: string): string;
}

/**
 * The journal of one run, as its holder writes it.
 *
 * - `append` is for what happened here: the facts are given back at once, to be folded, and are on their way (each may
 *   be `provisional` until it is shipped). They are never overtaken by what is appended after them.
 * - `submit` is for decisions, and for facts whose time decides anything: they are stamped before they are folded, and
 *   would survive a power cut when it resolves. With `after` nothing is appended if the journal has other events than
 *   the holder knew; it must then read on, fold, and decide again. `taken` is called with the events at the moment they
 *   have their place, before anything that follows them.
 * - `flush` resolves when everything that was appended would survive a power cut. It comes before a side effect, and
 *   before the agent is told that something is kept.
 */
export interface Journal {
  append(facts: readonly Fact[]): RunEvent[];
  submit(
    facts: readonly Fact[],
    taken: (events: RunEvent[]) => void,
    options?: { after: number },
  ): Promise<{ ok: boolean }>;
  /** Events that somebody else wrote into the run, in order; on a conflict they come before it is said. */
  onOthers(take: (events: RunEvent[]) => void): void;
  onMoved(listener: (moved: Moved) => void): void;
  flush(): Promise<void>;
  /** On its way before any event that names it. */
  putBlob(content: string): BlobRef;
  getBlob(ref: BlobRef): Promise<string | undefined>;
  /** Keeps what was appended; nothing more is taken from here on. */
  close(): Promise<void>;
}
