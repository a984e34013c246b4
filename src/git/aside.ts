/**
 * What a failed phase left in the run's checkout, out of the way of others: a commit on no branch, and from there back.
 *
 * Invariants
 * 1. It is in the commit before it leaves the checkout.
 * 2. A path leaves the checkout only while its content is exactly the phase's; everything else stays, and is named.
 * 3. Both ways can be repeated after a crash at any moment.
 */

import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { isKeyFile } from "../secrets/find.js";
import type { CommitRequest } from "./commit.js";
import type { Git } from "./git.js";
import { inspectChanges } from "./inspect.js";
import { mergeText, textIn } from "./merge-text.js";
import { refPart } from "./ref-part.js";
import { unfinishedOperation } from "./start.js";
import {
  entriesIn,
  entryLine,
  isSegnoPath,
  snapshotTree,
  type TreeChange,
  treeChanges,
  withPrivateIndex,
} from "./trees.js";

export interface Aside {
  /** Undefined: there was nothing to set aside. */
  sha: string | undefined;
  ref: string;
  /** What stays in the checkout although the phase changed it: it is not the phase's alone. */
  stayed: string[];
}

export const asideRef = (run: string, phase: string, attempt: number): string =>
  `refs/segno/${run}/aside/${refPart(phase)}-a${attempt}`;

/** Undefined where the checkout is not what the run left: on another branch, in the middle of something. */
export async function setAside(git: Git, request: CommitRequest, ref: string): Promise<Aside | undefined> {
  const branch = await git.attempt(["symbolic-ref", "--short", "--quiet", "HEAD"]);
  const descends = await git.attempt(["merge-base", "--is-ancestor", request.head, "HEAD"]);
  if (branch.stdout.trim() !== request.branch || !descends.ok || (await unfinishedOperation(git)) !== undefined)
    return undefined;
  const known = (await git.attempt(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`])).stdout.trim();
  const kept = known === "" ? await keep(git, request, ref) : { sha: known, stayed: [] };
  if (kept.sha === undefined) return { sha: undefined, ref, stayed: kept.stayed };
  const stayed = await clear(git, kept.sha, request.staged);
  return { sha: kept.sha, ref, stayed: [...kept.stayed, ...stayed] };
}

/** A whole checkout, and the commits below it, on no branch. */
export async function keepTree(git: Git, ref: string): Promise<void> {
  const head = await git.line(["rev-parse", "HEAD"]);
  const tree = await snapshotTree(git);
  const same = tree === (await git.line(["rev-parse", "HEAD^{tree}"]));
  const sha = same ? head : await git.line(["commit-tree", tree, "-p", head, "-m", "What a skipped phase left"]);
  await git.raw(["update-ref", ref, sha]);
}

async function keep(
  git: Git,
  request: CommitRequest,
  ref: string,
): Promise<{ sha: string | undefined; stayed: string[] }> {
  const head = await git.line(["rev-parse", "HEAD"]);
  const now = await snapshotTree(git);
  const byPhase = new Set((await treeChanges(git, request.baseline, now)).map(({ path }) => path));
  const before = new Set((await treeChanges(git, request.head, request.baseline)).map(({ path }) => path));
  const plan = new Set(request.plan.files);
  const open = (await treeChanges(git, head, now)).filter(
    ({ path }) => byPhase.has(path) && !isSegnoPath(path) && !plan.has(path),
  );
  const isOwn = ({ path, kind, mode }: TreeChange): boolean =>
    !before.has(path) &&
    !request.usersPaths.has(path) &&
    mode !== "160000" &&
    !request.staged.includes(path) &&
    (kind === "D" || !isKeyFile(path));
  const own = open.filter(isOwn);
  const unfit = new Set((await inspectChanges(git, own, request.limits)).map(({ path }) => path));
  const taken = own.filter(({ path }) => !unfit.has(path));
  const stayed = open.filter((change) => !taken.includes(change)).map(({ path }) => path);
  if (taken.length === 0) return { sha: undefined, stayed };
  const tree = await withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", head], { index });
    await git.raw(["update-index", "-z", "--index-info"], { index, input: taken.map(entryLine).join("") });
    return git.line(["write-tree"], { index });
  });
  const sha = await git.line(["commit-tree", tree, "-p", head, "-F", "-"], { input: `${request.message}\n` });
  await git.raw(["update-ref", ref, sha]);
  return { sha, stayed };
}

/** Takes out of the checkout what the commit holds; what is something else by now stays, and is named. */
async function clear(git: Git, sha: string, staged: readonly string[]): Promise<string[]> {
  const now = await snapshotTree(git);
  const aside = await treeChanges(git, `${sha}^`, sha);
  const others = new Set((await treeChanges(git, sha, now)).map(({ path }) => path));
  const cleared = new Set((await treeChanges(git, `${sha}^`, now)).map(({ path }) => path));
  const leaving = aside.filter(({ path }) => !others.has(path));
  await writePaths(
    git,
    `${sha}^`,
    leaving.map(({ path }) => path),
  );
  const index = await entriesIn(
    git,
    `${sha}^`,
    leaving.map(({ path }) => path).filter((path) => !staged.includes(path)),
  );
  if (index !== "") await git.attempt(["update-index", "-z", "--index-info"], { input: index });
  return aside.filter(({ path }) => others.has(path) && cleared.has(path)).map(({ path }) => path);
}

export interface BroughtBack {
  /** Files that others changed, too, in the same lines: they stay as the others left them. */
  conflicts: string[];
}

/** Brings what was made of `base` back into a checkout in which others worked meanwhile, file by file. */
export async function bringBack(git: Git, { base, theirs }: { base: string; theirs: string }): Promise<BroughtBack> {
  const now = await snapshotTree(git);
  const changed = new Map((await treeChanges(git, base, now)).map((change) => [change.path, change]));
  const whole: string[] = [];
  const conflicts: string[] = [];
  for (const change of await treeChanges(git, base, theirs)) {
    const ours = changed.get(change.path);
    if (ours === undefined) whole.push(change.path);
    else if (ours.blob !== change.blob || ours.mode !== change.mode) {
      const merged = await mergeFile(git, { ours: now, base, theirs }, change.path);
      if (merged === undefined) conflicts.push(change.path);
      else await writeBlob(git, { ...change, kind: "M", blob: merged });
    }
  }
  await writePaths(git, theirs, whole);
  return { conflicts };
}

async function mergeFile(
  git: Git,
  trees: { ours: string; base: string; theirs: string },
  path: string,
): Promise<string | undefined> {
  const [ours, base, theirs] = await Promise.all(
    [trees.ours, trees.base, trees.theirs].map((tree) => textIn(git, tree, path)),
  );
  if (ours === undefined || base === undefined || theirs === undefined) return undefined;
  const merged = await mergeText(git, ours, base, theirs);
  return merged === undefined ? undefined : git.line(["hash-object", "-w", "--stdin"], { input: merged });
}

const writeBlob = (git: Git, change: TreeChange): Promise<void> =>
  withPrivateIndex(git, async (index) => {
    await git.raw(["update-index", "-z", "--index-info"], { index, input: entryLine(change) });
    await git.raw(["checkout-index", "--force", "--", change.path], { index });
  });

/** Writes these paths into the working tree as a tree has them; what it does not have is removed. */
export async function writePaths(git: Git, tree: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const there = new Set(await git.nulSeparated(["ls-tree", "-r", "-z", "--name-only", tree]));
  for (const path of paths.filter((each) => !there.has(each))) remove(git.top, path);
  const kept = paths.filter((path) => there.has(path));
  if (kept.length === 0) return;
  await withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", tree], { index });
    await git.raw(["checkout-index", "--force", "-z", "--stdin"], { index, input: `${kept.join("\0")}\0` });
  });
}

/** With the folders that are empty then. */
function remove(top: string, path: string): void {
  rmSync(join(top, path), { force: true });
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    try {
      if (readdirSync(join(top, folder)).length > 0) return;
      rmdirSync(join(top, folder));
    } catch {
      return;
    }
  }
}
