/** Bodies too large for the journal, each in a file named by its hash. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobRef } from "../run/event.js";
import { writeWhole } from "./atomic.js";

const hashOf = (content: string): string => createHash("sha256").update(content).digest("hex");

const refOf = (content: string): BlobRef => `sha256:${hashOf(content)}`;

export const blobsFolder = (folder: string): string => join(folder, "blobs");

function writeBlob(folder: string, ref: BlobRef, content: string): void {
  const path = join(blobsFolder(folder), ref.slice("sha256:".length));
  if (!existsSync(path)) writeWhole(path, content);
}

/** Undefined where it is gone or not what its name says. */
export async function readBlob(folder: string, ref: BlobRef): Promise<string | undefined> {
  const hash = ref.slice("sha256:".length);
  if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
  const content = await readFile(join(blobsFolder(folder), hash), "utf8").catch(() => undefined);
  return content !== undefined && hashOf(content) === hash ? content : undefined;
}

const MOST_HELD = 8 * 1024 * 1024;

/** The blobs of a run that is being written; the newest are held, so that they survive the loss of their folder. */
export class Blobs {
  readonly #held = new Map<BlobRef, string>();
  #chars = 0;
  #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  put(content: string): BlobRef {
    const ref = refOf(content);
    if (!this.#held.has(ref)) this.#hold(ref, content);
    writeBlob(this.#folder, ref, content);
    return ref;
  }

  async get(ref: BlobRef): Promise<string | undefined> {
    return readBlob(this.#folder, ref);
  }

  /** Everything that is held, in another folder, or in the same one again. */
  moveTo(folder: string): void {
    mkdirSync(blobsFolder(folder), { recursive: true });
    for (const [ref, content] of this.#held) writeBlob(folder, ref, content);
    this.#folder = folder;
  }

  #hold(ref: BlobRef, content: string): void {
    this.#held.set(ref, content);
    this.#chars += content.length;
    for (const [oldest, text] of this.#held) {
      if (this.#chars <= MOST_HELD || oldest === ref) break;
      this.#held.delete(oldest);
      this.#chars -= text.length;
    }
  }
}
