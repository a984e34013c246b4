/**
 * Puts HEAD and the run's branch back to where they belong after an agent moved them, where nothing can be lost by it.
 *
 *   HEAD on another branch, or on none, at our commit or at one that was made since ─▶ back on the branch, commits taken over
 *   the branch deleted                                                              ─▶ made again at the newest commit
 *   the branch moved back                                                           ─▶ forward again, with the files
 *   our commits amended or rebased away                                             ─▶ ours again, what is in the tree stays
 *   anything else                                                                   ─▶ left as it is, and said
 *
 * Invariants
 * 1. No file changes but those that are exactly as the commit had them that the branch is taken away from.
 * 2. A commit that the branch is taken away from stays under `refs/segno/`.
 */
import type { Git } from "./git.js";
import { bringAlong, contains } from "./merge.js";
import { unfinishedOperation } from "./start.js";
import { treeChanges } from "./trees.js";

export interface Belongs {
  branch: string;
  /** The newest commit that the run knows of: it must stay. */
  commit: string;
  /** When the phase began: what was committed before is not its own. */
  since: string;
  run: string;
}

export type Restored =
  | { type: "nothing" }
  | { type: "restored"; what: string }
  /** Only a person can say what is meant. */
  | { type: "left"; why: string };

const NOTHING: Restored = { type: "nothing" };
const short = (sha: string): string => sha.slice(0, 9);

export async function restoreBranch(git: Git, belongs: Belongs): Promise<Restored> {
  const { branch, commit } = belongs;
  const on = (await git.attempt(["symbolic-ref", "--short", "--quiet", "HEAD"])).stdout.trim();
  const tip = await commitAt(git, `refs/heads/${branch}`);
  const head = on === branch ? tip : await commitAt(git, "HEAD");
  if (on === branch && tip !== undefined && (await contains(git, tip, commit))) return NOTHING;
  const unfinished = await unfinishedOperation(git);
  if (unfinished !== undefined) return { type: "left", why: `a ${unfinished} is in progress` };
  if (on !== branch && head !== undefined) return backOnBranch(git, belongs, on, head, tip);
  if (on !== branch && on !== "") return { type: "left", why: `${on} is checked out, and has no commit` };
  if (tip === undefined) {
    await git.raw(["update-ref", `refs/heads/${branch}`, commit]);
    await git.raw(["symbolic-ref", "HEAD", `refs/heads/${branch}`]);
    return { type: "restored", what: `branch ${branch} was deleted, and is back at ${short(commit)}` };
  }
  return forward(git, belongs, tip);
}

async function commitAt(git: Git, name: string): Promise<string | undefined> {
  const { stdout } = await git.attempt(["rev-parse", "--verify", "--quiet", `${name}^{commit}`]);
  return stdout.trim() || undefined;
}

async function backOnBranch(
  git: Git,
  { branch, commit, since }: Belongs,
  on: string,
  head: string,
  tip: string | undefined,
): Promise<Restored> {
  const where = on === "" ? `no branch (${short(head)})` : `branch ${on}`;
  const left = (why: string): Restored => ({
    type: "left",
    why: `${where} is checked out instead of ${branch}, ${why}`,
  });
  if (!(await contains(git, head, commit))) return left(`at a commit that does not contain ${short(commit)}`);
  if (tip !== undefined && !(await contains(git, head, tip))) return left(`and ${branch} has commits that it has not`);
  const made = (await git.raw(["log", "--format=%ct", `${commit}..${head}`])).split("\n").filter((line) => line !== "");
  // Git counts in seconds.
  const began = Math.floor(Date.parse(since) / 1_000);
  if (made.some((time) => Number(time) < began)) return left("with commits that are older than the phase");
  await git.raw(["update-ref", "-m", "segno: back on its branch", `refs/heads/${branch}`, head]);
  await git.raw(["symbolic-ref", "-m", "segno: back on its branch", "HEAD", `refs/heads/${branch}`]);
  const taken = made.length === 0 ? "" : `, with the ${made.length} commits that were made there`;
  return { type: "restored", what: `${where} was checked out, and it is ${branch} again${taken}` };
}

/** The branch is where our newest commit is not. */
async function forward(git: Git, { branch, commit, run }: Belongs, tip: string): Promise<Restored> {
  const base = (await git.attempt(["merge-base", tip, commit])).stdout.trim();
  if (base === "")
    return { type: "left", why: `${branch} is at ${short(tip)}, which has nothing in common with ${short(commit)}` };
  await git.raw(["update-ref", `refs/segno/${run}/aside/rewritten-${tip.slice(0, 12)}`, tip]);
  await git.raw(["update-ref", "-m", "segno: restored", `refs/heads/${branch}`, commit, tip]);
  // What only went away with the commits comes back; what is something else by now is the phase's work.
  const changed = new Map((await treeChanges(git, base, tip)).map((change) => [change.path, change]));
  const keep = (await treeChanges(git, tip, commit)).map(({ path }) => path).filter((path) => changed.has(path));
  await bringAlong(git, branch, { from: tip, to: commit, keep });
  const what =
    base === tip
      ? `${branch} was moved back to ${short(tip)}, and is at ${short(commit)} again`
      : `${branch} was rewritten to ${short(tip)}, and is at ${short(commit)} again; what is in the files stays`;
  return { type: "restored", what };
}
