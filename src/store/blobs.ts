/** Bodies too large for the journal, each in a file named by its hash. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobRef } from "../run/event.js";
import { writeWhole } from "./atomic.js";

export const hashOf = (content: string): string => createHash("sha256").update(content).digest("hex");

export const blobsFolder = (folder: string): string => join(folder, "blobs");

export function writeBlob(folder: string, content: string): BlobRef {
  const hash = hashOf(content);
  const path = join(blobsFolder(folder), hash);
  if (!existsSync(path)) writeWhole(path, content);
  return `sha256:${hash}`;
}

/** Undefined where it is gone or not what its name says. */
export async function readBlob(folder: string, ref: BlobRef): Promise<string | undefined> {
  const hash = ref.slice("sha256:".length);
  if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
  const content = await readFile(join(blobsFolder(folder), hash), "utf8").catch(() => undefined);
  return content !== undefined && hashOf(content) === hash ? content : undefined;
}
