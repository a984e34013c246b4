/**
 * A clean checkout of what would be committed now, or of a tree, outside the repository: nothing that is ignored or left out
 * is in it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Git } from "./git.js";
import { snapshotTree } from "./trees.js";

export async function withCleanCheckout<T>(
  git: Git,
  use: (folder: string) => Promise<T>,
  of?: string | undefined,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "segno-clean-"));
  const place = join(folder, "checkout");
  try {
    const tree = of ?? (await snapshotTree(git));
    const parents = of === undefined ? ["-p", "HEAD"] : [];
    const commit = await git.line(["commit-tree", tree, ...parents, "-m", "candidate"]);
    await git.raw(["worktree", "add", "--quiet", "--detach", place, commit]);
    return await use(place);
  } finally {
    await git.attempt(["worktree", "remove", "--force", place]);
    rmSync(folder, { recursive: true, force: true });
    await git.attempt(["worktree", "prune"]);
  }
}
