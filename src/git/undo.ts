/** Back to before a run or a phase: by new commits, or by moving the branch back where nothing else came after. */
import type { Git } from "./git.js";

export interface Undone {
  how: "moved" | "reverted";
  commits: number;
  head: string;
}

export type UndoProblem =
  | { type: "dirty"; files: string[] }
  | { type: "missing"; sha: string }
  | { type: "conflict"; sha: string; detail: string }
  | { type: "nothing" };

/** Whether the branch holds nothing after `base` but these commits: then it can simply be moved back. */
export async function canMoveBack(git: Git, base: string, shas: readonly string[]): Promise<boolean> {
  const since = (await git.line(["rev-list", `${base}..HEAD`])).split("\n").filter((sha) => sha !== "");
  return since.length === shas.length && since.every((sha) => shas.includes(sha));
}

export async function undoCommits(
  git: Git,
  base: string,
  shas: readonly string[],
  move: boolean,
): Promise<{ ok: true; undone: Undone } | { ok: false; problem: UndoProblem }> {
  if (shas.length === 0) return { ok: false, problem: { type: "nothing" } };
  const files = await git.nulSeparated(["diff", "--name-only", "-z", "HEAD"]);
  if (files.length > 0) return { ok: false, problem: { type: "dirty", files } };
  for (const sha of shas) {
    const there = await git.attempt(["merge-base", "--is-ancestor", sha, "HEAD"]);
    if (!there.ok) return { ok: false, problem: { type: "missing", sha } };
  }
  const commits = shas.length;
  if (move && (await canMoveBack(git, base, shas))) {
    // Refuses to touch anything that is not committed.
    await git.raw(["reset", "--quiet", "--keep", base]);
    return { ok: true, undone: { how: "moved", commits, head: base } };
  }
  const before = await git.line(["rev-parse", "HEAD"]);
  // What a merge brought in is taken back with the merge.
  const listed = await git.line(["rev-list", "--first-parent", "--parents", "HEAD", "--not", base]);
  const newest = listed.split("\n").map((line) => line.split(" "));
  for (const [sha = "", ...parents] of newest.filter(([each = ""]) => shas.includes(each))) {
    const mainline = parents.length > 1 ? ["-m", "1"] : [];
    const reverted = await git.attempt(["revert", "--no-edit", ...mainline, sha]);
    if (reverted.ok) continue;
    await git.attempt(["revert", "--abort"]);
    await git.raw(["reset", "--quiet", "--keep", before]);
    return { ok: false, problem: { type: "conflict", sha, detail: reverted.stderr.trim().split("\n")[0] ?? "" } };
  }
  return { ok: true, undone: { how: "reverted", commits, head: await git.line(["rev-parse", "HEAD"]) } };
}
