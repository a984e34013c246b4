/** A file that held the user's uncommitted changes when a phase began, and that the phase edited too. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Git } from "./git.js";

/** The file as HEAD has it, with the phase's own hunks and none of the user's; undefined where they cannot be told apart. */
export async function phaseHunks(git: Git, baseline: string, now: string, path: string): Promise<string | undefined> {
  const versions = await Promise.all(
    ["HEAD", baseline, now].map((tree) => git.attempt(["cat-file", "blob", `${tree}:${path}`])),
  );
  const [head, before, after] = versions.map(({ ok, stdout }) => (ok && !stdout.includes("\0") ? stdout : undefined));
  if (head === undefined || before === undefined || after === undefined || before === after) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "segno-hunks-"));
  try {
    const files = [head, before, after].map((content, index) => {
      const file = join(folder, String(index));
      writeFileSync(file, content);
      return file;
    });
    const merged = await git.attempt(["merge-file", "--stdout", "--quiet", ...files]);
    if (!merged.ok) return undefined;
    return await git.line(["hash-object", "-w", "--stdin"], { input: merged.stdout });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
