/** A few characters that differ when the values do, and tell nothing of them. */
import { createHash } from "node:crypto";

export const shortHash = (value: unknown): string =>
  createHash("sha1")
    .update(JSON.stringify(value) ?? "")
    .digest("base64url")
    .slice(0, 12);
