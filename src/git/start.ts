/** What must be known of the repository before a run or a phase begins. */

import { existsSync, statSync } from "node:fs";
import type { ChangedFile } from "../run/changed-file.js";
import { Git } from "./git.js";
import { ownPath } from "./places.js";
import { refPart } from "./ref-part.js";
import { isSegnoPath, snapshotTree } from "./trees.js";

export type RepositoryProblem =
  | "not-a-repository"
  | "bare"
  | "no-commit"
  | "detached"
  | "unfinished"
  | "no-identity"
  | "locked"
  | "sparse";

export type Opened =
  | { ok: true; git: Git; branch: string; head: string; untracked: string[]; changed: string[] }
  | { ok: false; problem: RepositoryProblem; detail: string };

const UNFINISHED = ["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"];

/** A lock this old belongs to no git that is still running. */
const OLD_LOCK_MS = 60_000;

export interface Opening {
  /** Whether a HEAD on no branch will do. */
  detached?: boolean;
  /** Whether it is only looked at: nobody commits in it, and nobody has to be known. */
  looks?: boolean;
}

export async function openRepository(folder: string, { detached, looks }: Opening = {}): Promise<Opened> {
  const here = new Git(folder);
  const inside = await here.attempt(["rev-parse", "--is-bare-repository", "--is-inside-work-tree"]);
  if (!inside.ok) return { ok: false, problem: "not-a-repository", detail: folder };
  if (inside.stdout.startsWith("true") || !inside.stdout.includes("\ntrue"))
    return { ok: false, problem: "bare", detail: folder };
  const git = new Git(await here.line(["rev-parse", "--show-toplevel"]));
  const head = await git.attempt(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
  if (!head.ok) return { ok: false, problem: "no-commit", detail: git.top };
  const unfinished = await unfinishedOperation(git);
  if (unfinished !== undefined) return { ok: false, problem: "unfinished", detail: unfinished };
  const lock = await ownPath(git, "index.lock");
  if (existsSync(lock) && Date.now() - statSync(lock).mtimeMs > OLD_LOCK_MS)
    return { ok: false, problem: "locked", detail: lock };
  const sparse = await git.attempt(["config", "--bool", "core.sparseCheckout"]);
  if (sparse.stdout.trim() === "true") return { ok: false, problem: "sparse", detail: git.top };
  const identity = looks === true ? undefined : await git.attempt(["var", "GIT_COMMITTER_IDENT"]);
  if (identity?.ok === false)
    return { ok: false, problem: "no-identity", detail: identity.stderr.trim().split("\n")[0] ?? "" };
  const branch = await git.attempt(["symbolic-ref", "--short", "--quiet", "HEAD"]);
  if (!branch.ok && detached !== true) return { ok: false, problem: "detached", detail: head.stdout.trim() };
  const status = await git.nulSeparated(["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal"]);
  const untracked = status
    .filter((line) => line.startsWith("??"))
    .map((line) => line.slice(3))
    .filter((path) => !isSegnoPath(path.replace(/\/$/, "")));
  const changed = status.filter((line) => !line.startsWith("??")).map((line) => line.slice(3));
  return { ok: true, git, branch: branch.stdout.trim(), head: head.stdout.trim(), untracked, changed };
}

export async function unfinishedOperation(git: Git): Promise<string | undefined> {
  const paths = await Promise.all(UNFINISHED.map((name) => ownPath(git, name)));
  const found = UNFINISHED.find((_, index) => existsSync(paths[index] ?? ""));
  return found
    ?.toLowerCase()
    .replace(/_head|_log/, "")
    .replace(/-(merge|apply)$/, "");
}

export interface PhaseBaseline {
  head: string;
  /** The tree. */
  baseline: string;
  /** Paths the user has staged: theirs to commit. */
  staged: string[];
}

export const stagedPaths = (git: Git): Promise<string[]> =>
  git.nulSeparated(["diff", "--cached", "--name-only", "-z", "--no-renames", "HEAD"]);

/** Remembers the tree as it is now under `refs/segno/`, so that no clean-up can take it away. */
export async function takeBaseline(git: Git, run: string, name: string): Promise<PhaseBaseline> {
  const head = await git.line(["rev-parse", "HEAD"]);
  const baseline = await snapshotTree(git);
  const staged = await stagedPaths(git);
  await git.raw(["update-ref", refOf(run, name), baseline]);
  return { head, baseline, staged };
}

const refOf = (run: string, name: string): string => `refs/segno/${run}/${refPart(name)}`;

/** One that was taken before, as far as it can be known again. */
export async function baselineOf(git: Git, run: string, name: string): Promise<PhaseBaseline | undefined> {
  const known = await git.attempt(["rev-parse", "--verify", "--quiet", refOf(run, name)]);
  if (!known.ok) return undefined;
  return {
    head: await git.line(["rev-parse", "HEAD"]),
    baseline: known.stdout.trim(),
    staged: await stagedPaths(git),
  };
}

/** Files that changed since a baseline, with renames recognised and lines counted, for the ledger. */
export async function changedSince(git: Git, baseline: string): Promise<ChangedFile[]> {
  const now = await snapshotTree(git);
  const parts = await git.nulSeparated(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", baseline, now]);
  const changes = new Map<string, ChangedFile>();
  let at = 0;
  const next = (): string => parts[at++] ?? "";
  while (at < parts.length) {
    const head = next();
    if (head.startsWith(":")) {
      const kind = (head.split(" ")[4]?.[0] ?? "M") as ChangedFile["kind"];
      const first = next();
      const path = kind === "R" ? next() : first;
      changes.set(path, { path, kind, from: kind === "R" ? first : undefined });
      continue;
    }
    // Lines: added, removed, path; a rename has an empty path and then both.
    const [added = "", removed = "", named = ""] = head.split("\t");
    if (named === "") next();
    const change = changes.get(named === "" ? next() : named);
    if (change !== undefined && added !== "-") {
      change.added = Number(added);
      change.removed = Number(removed);
    }
  }
  return [...changes.values()].filter((change) => !isSegnoPath(change.path));
}
