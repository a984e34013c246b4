/** What is read of a run in PostgreSQL. */
import { createHash } from "node:crypto";
import { type BlobRef, EVENT_VERSION, type RunEvent } from "../../run/event.js";
import { upcast } from "../../run/upcast.js";
import type { Database } from "./database.js";

interface Row {
  seq: string;
  at: string;
  epoch: number;
  body: string;
}

/** Written by a Segno that knows more than this one. */
export class NewerVersion extends Error {
  override readonly name = "NewerVersion";

  constructor(
    readonly seq: number,
    readonly version: number,
  ) {
    super(`it has version ${version}, and this Segno knows versions up to ${EVENT_VERSION}: a newer Segno wrote it`);
  }
}

export async function eventsAfter(database: Database, run: string, after: number, upTo?: number): Promise<RunEvent[]> {
  const rows = await database.query<Row>(
    "SELECT seq, at, epoch, body FROM segno.events WHERE run = $1 AND seq > $2 AND ($3::bigint IS NULL OR seq <= $3) ORDER BY seq",
    [run, after, upTo ?? null],
  );
  return rows.map(({ seq, at, epoch, body }) => {
    const { v, ...fact } = JSON.parse(body) as { v: number };
    if (v > EVENT_VERSION) throw new NewerVersion(Number(seq), v);
    return upcast({ v, seq: Number(seq), at, epoch, ...fact } as { v: number; seq: number });
  });
}

/** Undefined where it is gone or not what its name says. */
export async function readBlob(database: Database, run: string, ref: BlobRef): Promise<string | undefined> {
  const hash = ref.slice("sha256:".length);
  if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
  const [row] = await database.query<{ content: Buffer }>(
    "SELECT content FROM segno.blobs WHERE run = $1 AND hash = $2",
    [run, hash],
  );
  if (row === undefined) return undefined;
  return createHash("sha256").update(row.content).digest("hex") === hash ? row.content.toString("utf8") : undefined;
}
