/** Three versions of a text made one; undefined where both sides changed the same lines. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Git } from "./git.js";

export async function mergeText(git: Git, ours: string, base: string, theirs: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "segno-merge-"));
  try {
    const files = [ours, base, theirs].map((content, index) => {
      const file = join(folder, String(index));
      writeFileSync(file, content);
      return file;
    });
    const merged = await git.attempt(["merge-file", "--stdout", "--quiet", ...files]);
    return merged.ok ? merged.stdout : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file as a tree has it; undefined where it is not there, or no text. */
export async function textIn(git: Git, tree: string, path: string): Promise<string | undefined> {
  const { ok, stdout } = await git.attempt(["cat-file", "blob", `${tree}:${path}`]);
  return ok && !stdout.includes("\0") ? stdout : undefined;
}
