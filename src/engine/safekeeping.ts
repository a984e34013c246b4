/**
 * The work of a phase after each reported task, as a tree on no branch: an agent that cleans up, or deletes the folder it
 * works in, takes nothing away that was finished. Nothing comes from here into the phase's own commits but through the
 * working tree, and it is gone once the phase is committed.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bringBack, writePaths } from "../git/aside.js";
import { asGitError, type Git, GitError } from "../git/git.js";
import { inspectChanges } from "../git/inspect.js";
import { refPart } from "../git/ref-part.js";
import { readSigns } from "../git/signs.js";
import { snapshotTree, type TreeChange, treeChanges, treeWith } from "../git/trees.js";
import { lastAttempt, standsOn } from "../run/phase.js";
import { isKeyFile } from "../secrets/find.js";
import { checkoutOf } from "./checkout.js";
import type { HeldRun } from "./held-run.js";

interface Kept {
  tree: string;
  /** The newest commit that the journal knew of, and where the branch was: an agent may have committed meanwhile. */
  base: string;
  tip: string;
  tasks: string[];
}

const MB = 1024 * 1024;

/** Where a look at the working tree takes longer, work is kept at commits only. */
const MOST_MS = 2_000;

/** Where the work of a phase is kept until it is committed. */
export const workRef = (run: string, phase: string, what: "tree" | "note"): string =>
  `refs/segno/${run}/work/${refPart(phase)}-${what}`;

const refOf = ({ run }: HeldRun, phase: string, what: "tree" | "note"): string => workRef(run.state.run, phase, what);

/** Whether it is worth doing again: it took no longer than it may. */
export async function keepWork(held: HeldRun, phase: string, git: Git, tasks: readonly string[]): Promise<boolean> {
  const began = performance.now();
  const kept = await keepForOthers(held, phase, git, tasks).catch(asGitError);
  return !(kept instanceof GitError) && performance.now() - began < MOST_MS;
}

/** It throws where it cannot be kept: nobody is to be told then that it was done. */
export async function keepForOthers(held: HeldRun, phase: string, git: Git, tasks: readonly string[]): Promise<void> {
  const attempt = lastAttempt(held.run.state.phases.get(phase));
  const { branch, top } = checkoutOf(held, phase);
  const tip = readSigns(top, branch).tip ?? (await git.line(["rev-parse", "HEAD"]));
  const base = attempt === undefined ? tip : standsOn(attempt);
  const whole = await snapshotTree(git);
  const tree = held.remote === undefined ? whole : await fitToBeSent(held, phase, git, { base, tree: whole });
  const note: Kept = { tree, base, tip, tasks: [...tasks] };
  const blob = await git.line(["hash-object", "-w", "--stdin"], { input: JSON.stringify(note) });
  const refs = [`update ${refOf(held, phase, "tree")} ${note.tree}`, `update ${refOf(held, phase, "note")} ${blob}`];
  await git.raw(["update-ref", "--stdin"], { input: `${refs.join("\n")}\n` });
}

/** Without what must not leave this machine: secrets, key files, what is too large for a commit. */
async function fitToBeSent(
  { run, fitness }: HeldRun,
  phase: string,
  git: Git,
  { base, tree }: { base: string; tree: string },
): Promise<string> {
  const { max_file_mb, max_binary_mb } = run.state.config;
  const limits = { maxFileBytes: max_file_mb * MB, maxBinaryBytes: max_binary_mb * MB };
  const changes = (await treeChanges(git, base, tree)).filter(({ kind }) => kind !== "D");
  const nameOf = ({ path, blob }: TreeChange): string => `${blob} ${path}`;
  const unknown = changes.filter((change) => !fitness.has(nameOf(change)));
  const found = new Map((await inspectChanges(git, unknown, limits)).map((finding) => [finding.path, finding.what]));
  for (const change of unknown) {
    const why = isKeyFile(change.path) ? "a key file" : found.get(change.path);
    fitness.set(nameOf(change), why === undefined);
    if (why !== undefined) run.warn(`${change.path} is not sent to other machines: ${why}.`, phase);
  }
  const unfit = changes.filter((change) => fitness.get(nameOf(change)) === false).map(({ path }) => path);
  return unfit.length === 0 ? tree : treeWith(git, tree, { from: base, paths: unfit });
}

/** Brings what was kept back into a checkout that was made anew, from what it was built on; which tasks it holds. */
export async function bringWorkBack(held: HeldRun, phase: string, git: Git, stands: string): Promise<string[]> {
  const kept = await read(git, refOf(held, phase, "note"));
  // What others kept before that commit is in it, or was taken back in it.
  if (kept === undefined || kept.base !== stands) return [];
  const head = await git.line(["rev-parse", "HEAD"]);
  const base = head === stands ? stands : kept.tip;
  const brought = await bringBack(git, { base, theirs: kept.tree }).catch(asGitError);
  return brought instanceof GitError || brought.conflicts.length > 0 ? [] : kept.tasks;
}

/** Only files that the phase made and that are gone: nothing that was there before it, and nothing that was changed. */
export async function bringFilesBack(held: HeldRun, phase: string, git: Git, baseline: string): Promise<string[]> {
  const kept = await read(git, refOf(held, phase, "note"));
  if (kept === undefined) return [];
  const made = await treeChanges(git, baseline, kept.tree).catch(asGitError);
  if (made instanceof GitError) return [];
  const gone = made
    .filter(({ path, kind }) => kind === "A" && !existsSync(join(git.top, path)))
    .map(({ path }) => path);
  const written = await writePaths(git, kept.tree, gone).catch(asGitError);
  return written instanceof GitError ? [] : gone;
}

/** It is in a commit now. */
export async function forgetWork(held: HeldRun, phase: string, git: Git): Promise<void> {
  const refs = (["tree", "note"] as const).map((what) => `delete ${refOf(held, phase, what)}\n`);
  await git.attempt(["update-ref", "--stdin"], { input: refs.join("") });
}

async function read(git: Git, ref: string): Promise<Kept | undefined> {
  const shown = await git.attempt(["cat-file", "blob", ref]);
  return shown.ok ? (JSON.parse(shown.stdout) as Kept) : undefined;
}
