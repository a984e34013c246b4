/** A commit of one file and nothing else, on the run's branch, whatever is changed, staged or checked out beside it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "./git.js";
import { unfinishedOperation } from "./start.js";
import { withPrivateIndex } from "./trees.js";

/** Adds the file as it is in the working tree, or takes it away where it is gone; false where that cannot be done now. */
export async function commitAlone(git: Git, branch: string, path: string, message: string): Promise<boolean> {
  const on = (await git.attempt(["symbolic-ref", "--short", "--quiet", "HEAD"])).stdout.trim();
  if (on !== branch || (await unfinishedOperation(git)) !== undefined) return false;
  const head = await git.line(["rev-parse", `refs/heads/${branch}`]);
  const tree = await withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", head], { index });
    const blob = existsSync(join(git.top, path)) ? await git.line(["hash-object", "-w", "--", path]) : undefined;
    const entry = blob === undefined ? `0 ${"0".repeat(40)}\t${path}\0` : `100644 ${blob}\t${path}\0`;
    await git.raw(["update-index", "-z", "--index-info"], { index, input: entry });
    return git.line(["write-tree"], { index });
  });
  if (tree === (await git.line(["rev-parse", `${head}^{tree}`]))) return false;
  const sha = await git.line(["commit-tree", tree, "-p", head, "-F", "-"], { input: `${message}\n` });
  const moved = await git.attempt(["update-ref", "-m", "segno: handoff", `refs/heads/${branch}`, sha, head]);
  // Else the user's next commit would take it out again.
  if (moved.ok) await git.attempt(["reset", "--quiet", "--", path]);
  return moved.ok;
}
