/** Submodules that were moved to another commit although the phase is not about them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Git } from "./git.js";
import { snapshotTree, treeChanges } from "./trees.js";

export interface MovedSubmodule {
  path: string;
  from: string;
  to: string;
}

/** Takes them back to what the baseline has, where nothing in them is uncommitted; what they were at stays on a ref. */
export async function putSubmodulesBack(
  git: Git,
  baseline: string,
  run: string,
  phaseText: string,
): Promise<MovedSubmodule[]> {
  if (!existsSync(join(git.top, ".gitmodules"))) return [];
  const moved: MovedSubmodule[] = [];
  for (const { path, mode, blob, kind } of await treeChanges(git, baseline, await snapshotTree(git))) {
    if (mode !== "160000" || kind !== "M" || phaseText.includes(path)) continue;
    const recorded = (await git.line(["ls-tree", "--format=%(objectname)", baseline, "--", path])).trim();
    const inside = new Git(join(git.top, path));
    const dirty = await inside.attempt(["status", "--porcelain"]);
    if (!dirty.ok || dirty.stdout !== "") continue;
    await inside.attempt(["update-ref", `refs/segno/${run}/moved-${blob.slice(0, 12)}`, blob]);
    if ((await inside.attempt(["checkout", "--quiet", "--detach", recorded])).ok)
      moved.push({ path, from: blob, to: recorded });
  }
  return moved;
}
