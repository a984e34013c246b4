/** A checkpoint as it is kept on disk: with a schema version and a hash over all the rest, so that damage is seen. */
import { createHash } from "node:crypto";
import type { Handed } from "./checkpoint.js";

export const SLOT_SCHEMA = 1;

interface Slot {
  schema: number;
  session: string;
  handed: Handed;
  hash: string;
}

const hashOf = (schema: number, session: string, handed: Handed): string =>
  createHash("sha256")
    .update(JSON.stringify([schema, session, handed]))
    .digest("hex");

export const writeSlot = (session: string, handed: Handed): string =>
  `${JSON.stringify({ schema: SLOT_SCHEMA, session, handed, hash: hashOf(SLOT_SCHEMA, session, handed) })}\n`;

export type ReadSlot = { ok: true; session: string; handed: Handed } | { ok: false; why: string };

export function readSlot(text: string): ReadSlot {
  let slot: Partial<Slot>;
  try {
    slot = JSON.parse(text) as Partial<Slot>;
  } catch {
    return { ok: false, why: "it is not whole" };
  }
  const { schema, session, handed } = slot ?? {};
  if (typeof schema !== "number" || typeof session !== "string" || handed === undefined)
    return { ok: false, why: "it is not a checkpoint" };
  if (schema > SLOT_SCHEMA) return { ok: false, why: `it was written by a newer Segno (schema ${schema})` };
  // Written again it must be the same text, hash and all: then nothing in it can differ.
  if (text !== writeSlot(session, handed)) return { ok: false, why: "its hash does not fit" };
  return { ok: true, session, handed };
}
