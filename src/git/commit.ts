/**
 * A commit of exactly what a phase changed, built in a private index.
 *
 * Invariants
 * 1. The commit is HEAD plus the phase's changes since its baseline: never what was dirty before, never a plan file but
 *    for Segno's own marks, never `.segno/`.
 * 2. The user's index is not used to build it. Afterwards its entries for exactly the committed paths move to the new
 *    commit, except where the user had staged something: else their next commit would revert the phase.
 * 3. A commit carries the id of its command as a trailer, so that a repeat after a crash is recognised.
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isKeyFile } from "../secrets/find.js";
import type { Git } from "./git.js";
import { TRAILERS, trailerFormat } from "./history.js";
import { phaseHunks } from "./hunks.js";
import { describeFinding, inspectChanges, type SizeLimits } from "./inspect.js";
import { unfinishedOperation } from "./start.js";
import { entryLine, isSegnoPath, snapshotTree, type TreeChange, treeChanges, withPrivateIndex } from "./trees.js";

export interface CommitRequest {
  message: string;
  run: string;
  /** The id of the command that makes it. */
  command: string;
  trailers: readonly (readonly [string, string])[];
  /** The tree when the phase began. */
  baseline: string;
  /** Where HEAD was when the phase began: a move to anything that does not descend from it is not ours. */
  head: string;
  /** Paths the user had staged when the phase began. */
  staged: readonly string[];
  /** Paths the user changed while the run rested, with a tree that holds them as the run left them. */
  usersPaths: ReadonlyMap<string, string>;
  /** The branch the run works on. */
  branch: string;
  /** It finishes a merge that was begun in a worktree. */
  merging?: boolean;
  limits: SizeLimits;
  /** Files of the plan: only the given contents are committed, if any. */
  plan: { files: readonly string[]; marked: ReadonlyMap<string, string> };
}

/** What the user had open, and an agent committed: the commits that were taken apart, and where they are kept. */
export interface TakenApart {
  commits: string[];
  files: string[];
  ref: string;
}

export type CommitOutcome =
  | { type: "made"; sha: string; files: number; leftOut: string[]; apart?: TakenApart | undefined }
  | { type: "nothing"; apart?: TakenApart | undefined }
  /** Something in it must not be committed, or a hook says no: the work is kept, and can be repaired. */
  | { type: "refused"; why: string; output: string }
  | { type: "failed"; why: string };

/** The commit this command already made, if Segno ended before it could say so. */
async function findCommit(git: Git, { head, run, command }: CommitRequest): Promise<string | undefined> {
  const format = `--format=${trailerFormat(TRAILERS.run, TRAILERS.command)}`;
  const log = await git.attempt(["log", format, `${head}..HEAD`]);
  const row = log.stdout.split("\n").find((line) => {
    const [, ofRun, ofCommand] = line.split("\0");
    return ofRun === run && ofCommand === command;
  });
  return row?.split("\0")[0];
}

const INDEX_TRIES = 30;

export async function commitChanges(git: Git, request: CommitRequest): Promise<CommitOutcome> {
  let head = await git.line(["rev-parse", "HEAD"]);
  // Where HEAD has not moved, there is no commit of anybody's to look for.
  const moved = head !== request.head;
  const made = moved ? await findCommit(git, request) : undefined;
  if (made !== undefined) {
    const files = await repairIndex(git, made, request.staged);
    return { type: "made", sha: made, files, leftOut: [] };
  }
  const unfinished = await unfinishedOperation(git);
  if (unfinished !== undefined && !(request.merging === true && unfinished === "merge")) {
    return {
      type: "failed",
      why: `A ${unfinished} is in progress in the repository: a commit now would become part of it. Finish or abort it, then resume.`,
    };
  }
  const branch = await git.attempt(["symbolic-ref", "--short", "--quiet", "HEAD"]);
  if (branch.stdout.trim() !== request.branch) {
    return {
      type: "failed",
      why: `The branch was switched from ${request.branch} to ${branch.stdout.trim() || "no branch"} while the phase worked. Nothing was committed: the work is in the working tree. Switch back, then resume.`,
    };
  }
  if (moved && !(await git.attempt(["merge-base", "--is-ancestor", request.head, head])).ok) {
    return {
      type: "failed",
      why: `HEAD was moved from ${request.head.slice(0, 9)} to ${head.slice(0, 9)}, which does not contain it. Nothing was committed and nothing was lost: look at it with git log and git reflog.`,
    };
  }
  const foreign = moved ? await inspectForeign(git, request, head) : undefined;
  if (foreign !== undefined) return foreign;
  const apart = moved ? await takeApart(git, request, head) : undefined;
  if (apart !== undefined) head = apart.base;
  const { taken, leftOut } = await selectChanges(git, request);
  const submodules = await registeredSubmodules(git);
  const nested = taken
    .filter((change) => change.mode === "160000" && change.kind !== "D" && !submodules.has(change.path))
    .map((change) => change.path);
  if (nested.length > 0) {
    return {
      type: "failed",
      why: `${nested.join(", ")} is a git repository of its own: its files cannot be committed here. Remove its .git folder, or add it as a submodule.`,
    };
  }
  const findings = await inspectChanges(git, taken, request.limits);
  if (findings.length > 0) {
    const list = findings.map(describeFinding);
    return {
      type: "refused",
      why: `it holds what must not be committed: ${list.slice(0, 3).join("; ")}${list.length > 3 ? `; and ${list.length - 3} more` : ""}`,
      output: `Nothing was committed. Take these out (read secrets from the environment, or ignore the file), then report the result again:\n${list.join("\n")}`,
    };
  }
  return withPrivateIndex(git, async (index) => {
    await startAt(git, head, index);
    const entries = taken.map((change) => entryLine(change));
    for (const [path, content] of request.plan.marked) {
      const blob = await git.line(["hash-object", "-w", "--stdin", "--path", path], { input: content });
      const mode = (await git.line(["ls-tree", "--format=%(objectmode)", head, "--", path])) || "100644";
      entries.push(`${mode} ${blob}\t${path}\0`);
    }
    if (entries.length > 0) await git.raw(["update-index", "-z", "--index-info"], { index, input: entries.join("") });
    const paths = await git.nulSeparated(["diff", "--cached", "--name-only", "-z", "--no-renames", head], { index });
    if (paths.length === 0 && !(request.merging === true && (await isMerging(git))))
      return { type: "nothing", ...(apart === undefined ? {} : { apart: apart.taken }) };
    const options = { index, input: messageText(request), timeoutMs: COMMIT_MS };
    const made = await git.attempt(["commit", "--quiet", "--file=-"], options);
    if (!made.ok) {
      const said = `${made.stdout}${made.stderr}`.trim();
      if (!(await hasCommitHook(git))) return { type: "failed", why: `git commit failed: ${said}` };
      return { type: "refused", why: `a hook of the repository refuses the commit: ${lastLine(said)}`, output: said };
    }
    const sha = await git.line(["rev-parse", "HEAD"]);
    const files = await repairIndex(git, sha, request.staged);
    return { type: "made", sha, files, leftOut, ...(apart === undefined ? {} : { apart: apart.taken }) };
  });
}

const isMerging = async (git: Git): Promise<boolean> =>
  (await git.attempt(["rev-parse", "--verify", "--quiet", "MERGE_HEAD"])).ok;

/** Paths that `.gitmodules` names: their commits are content like any other. */
async function registeredSubmodules(git: Git): Promise<Set<string>> {
  if (!existsSync(join(git.top, ".gitmodules"))) return new Set();
  const listed = await git.attempt(["config", "--file", ".gitmodules", "--get-regexp", "^submodule\\..*\\.path$"]);
  return new Set(listed.stdout.split("\n").map((line) => line.slice(line.indexOf(" ") + 1)));
}

/** The private index as HEAD is. What the user's index knows of unchanged files is kept: else every file would be read again. */
async function startAt(git: Git, head: string, index: string): Promise<void> {
  if ((await git.attempt(["diff-index", "--cached", "--quiet", head], { index })).ok) return;
  if ((await git.attempt(["read-tree", "-m", head], { index })).ok) return;
  await git.raw(["read-tree", head], { index });
}

const COMMIT_MS = 15 * 60_000;
const COMMIT_HOOKS = ["pre-commit", "prepare-commit-msg", "commit-msg", "reference-transaction"];

async function hasCommitHook(git: Git): Promise<boolean> {
  const folder = resolve(git.top, await git.line(["rev-parse", "--git-path", "hooks"]));
  return COMMIT_HOOKS.some((name) => existsSync(join(folder, name)));
}

const lastLine = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .at(-1)
    ?.slice(0, 300) ?? "it said nothing";

/** Commits that the agent made itself are accepted when they descend from ours, and hold nothing that must not be there. */
async function inspectForeign(git: Git, request: CommitRequest, head: string): Promise<CommitOutcome | undefined> {
  const format = `--format=${trailerFormat(TRAILERS.run)}`;
  const log = await git.attempt(["log", format, `${request.head}..${head}`]);
  for (const line of log.stdout.split("\n").filter((row) => row !== "")) {
    const [sha = "", run = ""] = line.split("\0");
    if (run !== "") continue;
    const changes = await treeChanges(git, `${sha}^`, sha);
    const findings = await inspectChanges(
      git,
      changes.filter(({ path }) => !isSegnoPath(path)),
      request.limits,
    );
    const keys = changes
      .filter(({ path, kind }) => kind !== "D" && isKeyFile(path))
      .map(({ path }) => `${path}: a key file`);
    const list = [...keys, ...findings.map(describeFinding)];
    if (list.length === 0) continue;
    return {
      type: "failed",
      why: `Commit ${sha.slice(0, 9)}, which Segno did not make, holds what must not be committed: ${list.slice(0, 5).join("; ")}. Take it out of the history before you push: Segno rewrites nothing.`,
    };
  }
  return undefined;
}

/**
 * Commits of an agent's that hold what the user had open when the phase began (`git add -A`): the branch goes back to
 * before them, the files stay as they are, and what is the phase's own is committed by us. The commits are kept.
 */
async function takeApart(
  git: Git,
  { head: from, baseline, branch, run, staged }: CommitRequest,
  head: string,
): Promise<{ base: string; taken: TakenApart } | undefined> {
  const theirs = new Set((await treeChanges(git, from, baseline)).map(({ path }) => path));
  if (theirs.size === 0) return undefined;
  const log = await git.attempt(["log", `--format=${trailerFormat(TRAILERS.run)}`, `${from}..${head}`]);
  const rows = log.stdout
    .split("\n")
    .filter((row) => row !== "")
    .map((row) => row.split("\0") as [string, string | undefined]);
  // Behind one of ours nothing can be taken apart any more.
  const own = rows.findIndex(([, ofRun = ""]) => ofRun !== "");
  const commits = rows.slice(0, own < 0 ? undefined : own).map(([sha]) => sha);
  const base = own < 0 ? from : (rows[own]?.[0] ?? from);
  if (commits.length === 0) return undefined;
  const files = (await treeChanges(git, base, head)).map(({ path }) => path).filter((path) => theirs.has(path));
  if (files.length === 0 || !(await mixes(git, commits, theirs))) return undefined;
  const ref = `refs/segno/${run}/aside/agents-${head.slice(0, 12)}`;
  await git.raw(["update-ref", ref, head]);
  await git.raw(["update-ref", "-m", "segno: taken apart", `refs/heads/${branch}`, base, head]);
  const unstaged = files.filter((path) => !staged.includes(path));
  if (unstaged.length > 0) await git.attempt(["reset", "--quiet", "--", ...unstaged]);
  return { base, taken: { commits, files, ref } };
}

/** One that holds nothing but what the user had open is taken for the user's own. */
async function mixes(git: Git, commits: readonly string[], theirs: ReadonlySet<string>): Promise<boolean> {
  for (const sha of commits) {
    const own = (await treeChanges(git, `${sha}^`, sha)).map(({ path }) => theirs.has(path));
    if (own.includes(true) && own.includes(false)) return true;
  }
  return false;
}

/** What the phase changed, less what is not its own to commit. */
async function selectChanges(git: Git, request: CommitRequest): Promise<{ taken: TreeChange[]; leftOut: string[] }> {
  const now = await snapshotTree(git);
  const changes = await treeChanges(git, request.baseline, now);
  const plan = new Set(request.plan.files);
  const dirtyBefore = new Set((await treeChanges(git, request.head, request.baseline)).map((change) => change.path));
  const taken: TreeChange[] = [];
  const leftOut: string[] = [];
  for (const change of changes) {
    if (isSegnoPath(change.path) || plan.has(change.path)) continue;
    const noted = request.usersPaths.get(change.path);
    if (change.kind !== "D" && isKeyFile(change.path)) leftOut.push(change.path);
    else if (dirtyBefore.has(change.path)) {
      // What the user staged is theirs whole: their next commit would take the phase's hunks back.
      const apart = change.kind === "M" && !request.staged.includes(change.path);
      const blob = apart ? await phaseHunks(git, request.baseline, now, change.path) : undefined;
      if (blob === undefined) leftOut.push(change.path);
      else taken.push({ ...change, blob });
    } else if (noted === undefined) taken.push(change);
    else {
      leftOut.push(change.path);
      taken.push(...(await asNoted(git, request.baseline, noted, change.path)));
    }
  }
  return { taken, leftOut };
}

/** The whole working tree as a commit that is on no branch: for users who want to commit themselves. */
export async function keepSnapshot(git: Git, request: CommitRequest): Promise<CommitOutcome & { ref: string }> {
  const ref = `refs/segno/${request.run}/snapshots/${request.command.replaceAll("/", "-")}`;
  const head = await git.line(["rev-parse", "HEAD"]);
  const tree = await snapshotTree(git);
  const changes = await treeChanges(git, head, tree);
  if (changes.length === 0) return { type: "nothing", ref };
  const sha = await git.line(["commit-tree", tree, "-p", head, "-F", "-"], { input: messageText(request) });
  await git.raw(["update-ref", ref, sha]);
  return { type: "made", sha, files: changes.length, leftOut: [], ref };
}

/** A file the user changed meanwhile, as the phase had left it: their edit stays in the working tree. */
async function asNoted(git: Git, baseline: string, noted: string, path: string): Promise<TreeChange[]> {
  if (noted === "") return [];
  return (await treeChanges(git, baseline, noted)).filter((change) => change.path === path);
}

const messageText = ({ message, run, command, trailers }: CommitRequest): string => {
  const all = [[TRAILERS.run, run], [TRAILERS.command, command], ...trailers];
  return `${message}\n\n${all.map(([name, value]) => `${name}: ${value}`).join("\n")}\n`;
};

/**
 * Without this the user's index still holds the old versions, and their next commit would revert ours. How many files
 * the commit holds, those that a hook added included.
 */
async function repairIndex(git: Git, sha: string, staged: readonly string[]): Promise<number> {
  const theirs = new Set(staged);
  const committed = await treeChanges(git, `${sha}^`, sha);
  const changes = committed.filter(({ path }) => !theirs.has(path));
  if (changes.length === 0) return committed.length;
  const input = changes.map(entryLine).join("");
  // An editor may hold the index for a moment; the commit itself is made.
  for (let tries = 1; ; tries++) {
    const moved = await git.attempt(["update-index", "-z", "--index-info"], { input });
    if (moved.ok || tries >= INDEX_TRIES) return committed.length;
    await sleep(100);
  }
}
