/** A checkout of its own outside the repository, on a branch of its own: whatever happens there, the user's is not touched. */
import { existsSync, mkdirSync, realpathSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Git } from "./git.js";
import { isHalfMade, untilWhole } from "./half-made.js";
import { gitPlaces } from "./places.js";
import { refPart } from "./ref-part.js";
import { isSegnoPath } from "./trees.js";

export const worktreesFolder = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_STATE_HOME ?? join(env.HOME ?? homedir(), ".local", "state"), "segno", "worktrees");

/** The branch on which a phase works in a worktree of its own. */
export const phaseBranch = (run: string, phase: string): string => `segno/${run}/${refPart(phase)}`;

/** What it would be on the branch, while it is on its way there. */
export const trainRef = (run: string, phase: string): string => `refs/segno/${run}/train/${refPart(phase)}`;

export async function addWorktree(git: Git, folder: string, branch: string): Promise<string> {
  const place = placeFor(git, folder, branch);
  await git.raw(["worktree", "add", "--quiet", "-b", branch, place, "HEAD"]);
  return place;
}

function placeFor(git: Git, folder: string, branch: string): string {
  const place = join(folder, `${basename(git.top)}-${branch.replaceAll(/[^\w.-]/g, "-")}`);
  mkdirSync(dirname(place), { recursive: true });
  return place;
}

/** The worktree of a branch, made where there is none: a repeat, or a folder that somebody removed, is no trouble. */
export async function ensureWorktree(git: Git, folder: string, branch: string, start: string): Promise<string> {
  const place = placeFor(git, folder, branch);
  await untilWhole(git, place);
  const there = await worktreeOf(git, branch);
  if (there !== undefined && existsSync(join(there, ".git"))) {
    // Where the repository was moved, its worktrees look for it where it was.
    if (!(await git.attempt(["-C", there, "rev-parse", "--git-dir"])).ok)
      await git.attempt(["worktree", "repair", there]);
    return there;
  }
  await git.attempt(["worktree", "prune"]);
  const known = await git.attempt(["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`]);
  const what = known.ok ? [place, branch] : ["-b", branch, place, start];
  await git.raw(["worktree", "add", "--quiet", "--force", ...what]);
  return place;
}

/**
 * A worktree whose files are there and whose way to the repository was removed, or leads elsewhere, gets it back; what stood
 * there instead is kept beside it.
 */
export async function repairWorktree(git: Git, folder: string): Promise<"fine" | "repaired" | "gone"> {
  const isOurs = (): boolean => {
    const [own, its] = [gitPlaces(git.top), gitPlaces(folder)];
    return own !== undefined && its !== undefined && its.own !== its.common && sameFolder(own.common, its.common);
  };
  if (isOurs()) return "fine";
  const link = join(folder, ".git");
  if (existsSync(link)) renameSync(link, `${folder}.git-${Date.now()}`);
  await git.attempt(["worktree", "repair", folder]);
  return isOurs() ? "repaired" : "gone";
}

const sameFolder = (a: string, b: string): boolean => {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
};

/** Where a branch is checked out, as git knows it. One that is half made is none. */
export async function worktreeOf(git: Git, branch: string): Promise<string | undefined> {
  const listed = (await git.raw(["worktree", "list", "--porcelain", "-z"])).split("\0\0");
  const own = listed
    .map((entry) => entry.split("\0"))
    .find((lines) => lines.includes(`branch refs/heads/${branch}`) && !isHalfMade(lines));
  return own?.find((line) => line.startsWith("worktree "))?.slice("worktree ".length);
}

/** Where branches below this ref are checked out. */
export async function worktreesBelow(git: Git, place: string): Promise<string[]> {
  const listed = (await git.raw(["worktree", "list", "--porcelain", "-z"])).split("\0\0");
  const own = listed
    .map((entry) => entry.split("\0"))
    .filter((lines) => lines.some((l) => l.startsWith(`branch ${place}`)));
  return own.flatMap((lines) => lines.find((line) => line.startsWith("worktree "))?.slice("worktree ".length) ?? []);
}

/** Branches that are checked out in other worktrees, the user's own among them. */
export async function branchesElsewhere(git: Git, top: string): Promise<string[]> {
  const listed = (await git.raw(["worktree", "list", "--porcelain", "-z"])).split("\0\0");
  return listed
    .map((entry) => entry.split("\0"))
    .filter((lines) => !lines.includes(`worktree ${top}`))
    .flatMap((lines) => lines.filter((line) => line.startsWith("branch refs/heads/")))
    .map((line) => line.slice("branch refs/heads/".length));
}

/** Takes a merged branch and its worktree away; why not, if anything in it is in no commit and not `kept` elsewhere. */
export async function removeMerged(
  git: Git,
  place: { folder: string; branch: string },
  kept = false,
): Promise<string | undefined> {
  if (existsSync(place.folder) && !(await removeWorktree(git, place.folder, kept)))
    return "it holds changes that are in no commit";
  await git.attempt(["branch", "--quiet", "-D", place.branch]);
  return undefined;
}

/** Takes a clean checkout away; its branch keeps the commits. One with anything uncommitted stays, unless that is kept. */
export async function removeWorktree(git: Git, place: string, kept = false): Promise<boolean> {
  const status = await git.attempt(["-C", place, "status", "--porcelain", "-z"]);
  // The way to .segno is ours, and the only thing git does not know.
  const left = status.stdout
    .split("\0")
    .filter((line) => line !== "" && !isSegnoPath(line.slice(3).replace(/\/$/, "")));
  if (!status.ok || (left.length > 0 && !kept)) return false;
  return (await git.attempt(["worktree", "remove", "--force", place])).ok;
}
