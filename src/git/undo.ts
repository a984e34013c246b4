/** Back to before a run or a phase: by a new commit, or by moving the branch back where nothing else came after. */
import type { Git } from "./git.js";
import { TRAILERS, UNDONE } from "./history.js";

export interface Undone {
  how: "moved" | "reverted";
  commits: number;
  head: string;
}

export type UndoProblem =
  | { type: "dirty"; files: string[] }
  | { type: "missing"; sha: string }
  | { type: "foreign"; shas: string[] }
  | { type: "conflict"; sha: string; files: string[] }
  /** That was done before. */
  | { type: "undone" }
  | { type: "nothing" };

export interface Undoing {
  /** The commit before the run. */
  base: string;
  shas: readonly string[];
  move: boolean;
  plan: string;
  phases: readonly string[];
  /** Plan files as they are to be afterwards: their marks are Segno's own, and are not reverted but written anew. */
  plans: ReadonlyMap<string, string>;
  /** Files that are changed, but only by Segno's marks. */
  marked: readonly string[];
}

/** Commits after `base` that are none of these; `here`: on the branch itself, not merged into it. */
export async function foreignCommits(git: Git, base: string, shas: readonly string[], here = false): Promise<string[]> {
  const which = here ? ["--first-parent"] : [];
  const since = (await git.line(["rev-list", ...which, `${base}..HEAD`])).split("\n").filter((sha) => sha !== "");
  return since.filter((sha) => !shas.includes(sha));
}

export async function undoCommits(
  git: Git,
  { base, shas, move, plan, phases, plans, marked }: Undoing,
): Promise<{ ok: true; undone: Undone } | { ok: false; problem: UndoProblem }> {
  const problem = (what: UndoProblem) => ({ ok: false, problem: what }) as const;
  if (shas.length === 0) return problem({ type: "nothing" });
  const changed = await git.nulSeparated(["diff", "--name-only", "-z", "HEAD"]);
  const files = changed.filter((file) => !marked.includes(file));
  if (files.length > 0) return problem({ type: "dirty", files });
  for (const sha of shas) {
    const there = await git.attempt(["merge-base", "--is-ancestor", sha, "HEAD"]);
    if (!there.ok) return problem({ type: "missing", sha });
  }
  const foreign = await foreignCommits(git, base, shas);
  if (move && foreign.length > 0) return problem({ type: "foreign", shas: foreign });
  if (await wereTakenBack(git, base, shas)) return problem({ type: "undone" });
  const commits = shas.length;
  const own = changed.filter((file) => marked.includes(file));
  if (own.length > 0) await git.raw(["checkout", "--quiet", "HEAD", "--", ...own]);
  if (move) {
    // Refuses to touch anything that is not committed.
    await git.raw(["reset", "--quiet", "--keep", base]);
    return { ok: true, undone: { how: "moved", commits, head: base } };
  }
  const failed = await revertAll(git, base, shas, [...plans.keys()]);
  if (failed !== undefined) return problem(failed);
  await writePlans(git, plans);
  await git.raw(["commit", "--quiet", "--no-verify", "--allow-empty", "-F", "-"], {
    input: messageOf(plan, phases, shas),
  });
  return { ok: true, undone: { how: "reverted", commits, head: await git.line(["rev-parse", "HEAD"]) } };
}

/** Into the index and the working tree, newest first; all of them, or none. */
async function revertAll(
  git: Git,
  base: string,
  shas: readonly string[],
  plans: readonly string[],
): Promise<UndoProblem | undefined> {
  // What a merge brought in is taken back with the merge.
  const listed = await git.line(["rev-list", "--first-parent", "--parents", "HEAD", "--not", base]);
  const newest = listed.split("\n").map((line) => line.split(" "));
  for (const [sha = "", ...parents] of newest.filter(([each = ""]) => shas.includes(each))) {
    const mainline = parents.length > 1 ? ["-m", "1"] : [];
    const reverted = await git.attempt(["revert", "--no-commit", ...mainline, sha]);
    if (reverted.ok) continue;
    const unmerged = await git.nulSeparated(["diff", "--name-only", "-z", "--diff-filter=U"]);
    const files = unmerged.filter((file) => !plans.includes(file));
    if (files.length > 0 || unmerged.length === 0) {
      await git.attempt(["revert", "--quit"]);
      await git.raw(["reset", "--quiet", "--merge", "HEAD"]);
      return { type: "conflict", sha, files };
    }
    await git.raw(["checkout", "--quiet", "HEAD", "--", ...unmerged]);
    await git.attempt(["revert", "--quit"]);
  }
  await git.attempt(["revert", "--quit"]);
  return undefined;
}

async function writePlans(git: Git, plans: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, text] of plans) {
    const blob = await git.line(["hash-object", "-w", "--stdin"], { input: text });
    const mode = (await git.line(["ls-tree", "HEAD", "--", file])).split(" ")[0] || "100644";
    await git.raw(["update-index", "--add", "--cacheinfo", `${mode},${blob},${file}`]);
    await git.raw(["checkout-index", "--force", "--", file]);
  }
}

async function wereTakenBack(git: Git, base: string, shas: readonly string[]): Promise<boolean> {
  const all = (await git.raw(["log", "-z", "--format=%H%n%B", `${base}..HEAD`])).split("\0");
  // One that was reverted itself takes nothing back any more.
  const counting = all.filter(
    (text) => !all.some((other) => other.includes(`This reverts commit ${text.slice(0, 40)}`)),
  );
  return shas.every((sha) => counting.some((text) => text.includes(takesBack(sha))));
}

const takesBack = (sha: string): string => `This takes back ${sha}.`;

/** Its trailers say that what earlier commits name as done is not. */
const messageOf = (plan: string, phases: readonly string[], shas: readonly string[]): string =>
  [
    `Undo ${phases.length === 1 ? `phase ${phases[0]}` : `phases ${phases.join(", ")}`} of ${plan}`,
    "",
    ...shas.map(takesBack),
    "",
    `${TRAILERS.plan}: ${plan}`,
    ...phases.map((phase) => `${TRAILERS.phase}: ${phase}`),
    `${TRAILERS.status}: ${UNDONE}`,
    "",
  ].join("\n");
