/**
 * The journal port.
 *
 * An implementer must
 * - append all of the events or none, only if the journal's last sequence number is `expectedSeq`, and say
 *   `conflict` otherwise (the caller reads on, folds, and decides again);
 * - return from a `durable` append only when the events would survive a power cut; others may reach the disk in groups,
 *   but never overtake each other;
 * - keep blobs by the hash of their content, and verify it when they are read.
 */
import type { BlobRef, Fact, RunEvent } from "../run/event.js";

export type Appended = { ok: true; events: RunEvent[] } | { ok: false; conflict: true };

export interface Journal {
  append(expectedSeq: number, facts: readonly Fact[], options: { durable: boolean }): Appended;
  putBlob(content: string): BlobRef;
  getBlob(ref: BlobRef): string | undefined;
  close(): void;
}
