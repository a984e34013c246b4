/**
 * Merging without touching the user's checkout: what came meanwhile is merged in the phase's own worktree; the phase is
 * then swapped in as a merge commit, if the branch is still where it was.
 */
import { existsSync, lstatSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Git, GitError } from "./git.js";
import { TRAILERS, trailerFormat } from "./history.js";
import { ownPath } from "./places.js";
import { entryLine, isSegnoPath, type TreeChange, treeChanges, withPrivateIndex } from "./trees.js";

export const tipOf = (git: Git, branch: string): Promise<string> =>
  git.line(["rev-parse", `refs/heads/${branch}^{commit}`]);

export const contains = async (git: Git, commit: string, ancestor: string): Promise<boolean> =>
  (await git.attempt(["merge-base", "--is-ancestor", ancestor, commit])).ok;

/** Paths that differ between where two commits parted and the second. */
export async function changedSinceParting(git: Git, a: string, b: string): Promise<string[]> {
  const parted = await git.attempt(["merge-base", a, b]);
  const from = parted.ok ? parted.stdout.trim() : a;
  return (await treeChanges(git, from, b)).map((change) => change.path);
}

/** A git that was ended leaves its lock; in a worktree of ours nobody else holds one. */
async function dropStaleLock(worktree: Git): Promise<void> {
  rmSync(await ownPath(worktree, "index.lock"), { force: true });
}

/**
 * Merges a commit into the worktree without committing it; the conflicts. Plan files are never the phase's to change.
 * A repeat after a crash begins anew.
 */
export async function beginMerge(worktree: Git, commit: string, planFiles: readonly string[]): Promise<string[]> {
  await dropStaleLock(worktree);
  if ((await worktree.attempt(["rev-parse", "--verify", "--quiet", "MERGE_HEAD"])).ok)
    await worktree.raw(["reset", "--quiet", "--hard", "HEAD"]);
  const known = await worktree.nulSeparated(["ls-files", "-z", "--", ...planFiles]);
  if (known.length > 0) await worktree.raw(["checkout", "--quiet", "HEAD", "--", ...known]);
  const args = ["-c", "merge.conflictStyle=zdiff3", "-c", "rerere.enabled=false", "merge"];
  const merging = [...args, "--no-ff", "--no-commit", "--no-edit", "--quiet", commit];
  let merged = await worktree.attempt(merging);
  if (!merged.ok && (await dropLeftOvers(worktree, commit)) > 0) merged = await worktree.attempt(merging);
  const conflicts = await worktree.nulSeparated(["diff", "--name-only", "--diff-filter=U", "-z"]);
  const begun = await worktree.attempt(["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]);
  if (!merged.ok && !begun.ok) throw new GitError(["merge"], `${merged.stderr}${merged.stdout}`);
  const theirs = planFiles.filter((file) => known.includes(file));
  if (theirs.length > 0) await worktree.attempt(["checkout", "--quiet", commit, "--", ...theirs]);
  return conflicts.filter((path) => !planFiles.includes(path));
}

/** Files that an interrupted merge wrote, and that no index knows yet: exactly what the merge would write. */
async function dropLeftOvers(worktree: Git, commit: string): Promise<number> {
  const untracked = new Set(await worktree.nulSeparated(["ls-files", "--others", "--exclude-standard", "-z"]));
  const changes = (await treeChanges(worktree, "HEAD", commit)).filter(({ path }) => untracked.has(path));
  let dropped = 0;
  for (const { path, blob } of changes) {
    if ((await blobOf(worktree, path)) !== blob) continue;
    rmSync(join(worktree.top, path));
    dropped++;
  }
  return dropped;
}

const MARKER = /^(<{7}|>{7})( |$)/m;

/** Files in which a conflict is still marked. */
export const unresolved = (top: string, paths: readonly string[]): string[] =>
  paths.filter((path) => {
    const full = join(top, path);
    return existsSync(full) && lstatSync(full).isFile() && MARKER.test(readFileSync(full, "utf8"));
  });

export interface MergeCommit {
  /** Where the branch is, or will be, and what is brought in. */
  base: string;
  tip: string;
  /** What both are together. */
  tree: string;
  message: string;
  run: string;
  command: string;
  trailers: readonly (readonly [string, string])[];
  /** Files of the plan: as they were, or as they are to be. */
  planFiles: readonly string[];
  marked: ReadonlyMap<string, string>;
}

/** The merge commit as it is to be on the branch; the branch does not move yet. */
export async function makeMergeCommit(git: Git, request: MergeCommit): Promise<string> {
  const { base, tip, marked } = request;
  const tree = await withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", request.tree], { index });
    const entries = await entriesAt(git, base, request.planFiles);
    for (const [path, content] of marked) {
      const blob = await git.line(["hash-object", "-w", "--stdin", "--path", path], { input: content });
      const mode = (await git.line(["ls-tree", "--format=%(objectmode)", base, "--", path])) || "100644";
      entries.push(`${mode} ${blob}\t${path}\0`);
    }
    if (entries.length > 0) await git.raw(["update-index", "-z", "--index-info"], { index, input: entries.join("") });
    return git.line(["write-tree"], { index });
  });
  const trailers = [[TRAILERS.run, request.run], [TRAILERS.command, request.command], ...request.trailers];
  const input = `${request.message}\n\n${trailers.map(([name, value]) => `${name}: ${value}`).join("\n")}\n`;
  const signs = (await git.attempt(["config", "--bool", "commit.gpgSign"])).stdout.trim() === "true";
  const sign = signs ? ["-S"] : [];
  return git.line(["commit-tree", tree, "-p", base, "-p", tip, ...sign, "-F", "-"], { input });
}

/** Moves the branch to it, if it is still where it was; whether it was. */
export async function land(git: Git, branch: string, sha: string, base: string): Promise<boolean> {
  const moved = await git.attempt(["update-ref", "-m", "segno: merge", `refs/heads/${branch}`, sha, base]);
  if (moved.ok) return true;
  if ((await tipOf(git, branch)) !== base) return false;
  throw new GitError(["update-ref"], moved.stderr);
}

async function entriesAt(git: Git, commit: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const listed = await git.nulSeparated(["ls-tree", "-z", commit, "--", ...paths]);
  return listed.map((line) => line.replace(/^(\d+) \w+ (\w+)\t/, "$1 $2\t")).map((line) => `${line}\0`);
}

/** The merge commit that this command already made, if Segno ended before it could say so, and what it was made on. */
export async function findSwap(
  git: Git,
  branch: string,
  { run, command }: { run: string; command: string },
): Promise<{ sha: string; base: string; tip: string } | undefined> {
  const format = `--format=${trailerFormat(TRAILERS.run, TRAILERS.command)}`;
  const log = await git.attempt(["log", "--first-parent", "--max-count=200", format, `refs/heads/${branch}`]);
  const row = log.stdout.split("\n").find((line) => {
    const [, ofRun, ofCommand] = line.split("\0");
    return ofRun === run && ofCommand === command;
  });
  const sha = row?.split("\0")[0];
  return sha === undefined ? undefined : { sha, ...(await mergedIn(git, sha)) };
}

/** What a merge commit was made of; a phase that changed nothing is where the branch was, and git keeps that parent once. */
export async function mergedIn(git: Git, sha: string): Promise<{ base: string; tip: string }> {
  const [, base = "", tip = base] = (await git.line(["rev-list", "--parents", "--max-count=1", sha])).split(" ");
  return { base, tip };
}

/**
 * Brings a checkout along after its branch was moved, file by file, and only where it is as the old commit was. What
 * holds changes of the user's stays as it is, and is named. May be repeated.
 */
export async function bringAlong(
  git: Git,
  branch: string,
  { from, to, keep }: { from: string; to: string; keep: readonly string[] },
): Promise<string[]> {
  const on = await git.attempt(["symbolic-ref", "--short", "--quiet", "HEAD"]);
  if (on.stdout.trim() !== branch) return [];
  const changes = (await treeChanges(git, from, to)).filter(({ path }) => !isSegnoPath(path));
  const before = new Map((await treeChanges(git, to, from)).map((change) => [change.path, change]));
  const index = await indexEntries(git);
  const behind: string[] = [];
  const entries: string[] = [];
  const writes: TreeChange[] = [];
  for (const change of changes) {
    const was = before.get(change.path);
    const old = was === undefined || was.kind === "D" ? undefined : was.blob;
    const next = change.kind === "D" ? undefined : change.blob;
    const staged = index.get(change.path);
    if (staged === old || staged === next) entries.push(entryLine(change));
    if (keep.includes(change.path)) continue;
    const there = await blobOf(git, change.path);
    if (there === next) continue;
    if (there === old && (staged === old || staged === next)) writes.push(change);
    else behind.push(change.path);
  }
  // Contents first: with the index moved before them, a crash would look like the user's revert.
  await writeFiles(git, to, writes);
  if (entries.length > 0) await git.raw(["update-index", "-z", "--index-info"], { input: entries.join("") });
  if (writes.length > 0) await git.attempt(["update-index", "-q", "--refresh"]);
  return behind;
}

async function indexEntries(git: Git): Promise<Map<string, string>> {
  const lines = await git.nulSeparated(["ls-files", "--stage", "-z"]);
  return new Map(
    lines.map((line) => {
      const tab = line.indexOf("\t");
      return [line.slice(tab + 1), line.split(" ")[1] ?? ""];
    }),
  );
}

/** What a file of the checkout would be as a blob; undefined where there is none. */
async function blobOf(git: Git, path: string): Promise<string | undefined> {
  const full = join(git.top, path);
  const stat = lstatSync(full, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile()) return stat.isSymbolicLink() ? "link" : "folder";
  return git.line(["hash-object", "--", path]);
}

async function writeFiles(git: Git, to: string, changes: readonly TreeChange[]): Promise<void> {
  const gone = changes.filter(({ kind }) => kind === "D");
  const written = changes.filter(({ kind }) => kind !== "D");
  for (const { path } of gone) rmSync(join(git.top, path), { force: true });
  if (written.length === 0) return;
  await withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", to], { index });
    const input = written.map(({ path }) => `${path}\0`).join("");
    await git.raw(["checkout-index", "-f", "-q", "-z", "--stdin"], { index, input });
  });
}
