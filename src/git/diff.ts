/** What changed since a tree, as a patch of bounded length. */
import type { Git } from "./git.js";
import { snapshotTree } from "./trees.js";

const MOST = 400_000;

export async function diffOf(git: Git, baseline: string): Promise<string> {
  const now = await snapshotTree(git);
  const shown = await git.attempt(["diff", "--no-color", "--no-ext-diff", "-M", baseline, now]);
  return shown.ok ? shown.stdout.slice(0, MOST) : "";
}
