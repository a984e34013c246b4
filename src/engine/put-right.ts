/**
 * Compares git with what the run knows, and puts right what an agent did to it where nothing can be lost: at boundaries
 * by a look at a few files, before gates and commits in full. What was done is said; what only a person can decide stays.
 */
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dropDeadLocks } from "../git/dead-locks.js";
import { removeDrafts } from "../git/drafts.js";
import { asGitError, Git, GitError } from "../git/git.js";
import { remakeIndex } from "../git/index-file.js";
import { putRefsBack } from "../git/noted-refs.js";
import { openFiles } from "../git/open-files.js";
import { makeReadable } from "../git/permissions.js";
import { restoreBranch } from "../git/restore.js";
import { putCommandsBack, putSettingsBack } from "../git/settings.js";
import { hasLooseRefs, hasStash, readSigns } from "../git/signs.js";
import { type Stash, stashesSince } from "../git/stashes.js";
import { putSubmodulesBack } from "../git/submodules.js";
import { branchesElsewhere, ensureWorktree, repairWorktree } from "../git/worktree.js";
import { TOLD } from "../handover/told.js";
import type { FactOf } from "../run/event.js";
import { type Attempt, lastAttempt, standsOn } from "../run/phase.js";
import { phaseOf } from "../run/state.js";
import { type Checkout, checkoutOf } from "./checkout.js";
import type { HeldRun } from "./held-run.js";
import { inTurn } from "./in-turn.js";
import { bringFilesBack, bringWorkBack } from "./safekeeping.js";
import { setUpWorktree } from "./set-up.js";

/** Everything, when no agent of the phase is at work. */
export async function putRight(held: HeldRun, phase: string): Promise<void> {
  const attempt = lastAttempt(held.run.state.phases.get(phase));
  // What is merged has no place of its own any more.
  if (attempt === undefined || attempt.train.merged !== undefined) return;
  await inTurn(held, async () => {
    await remakeCheckout(held, phase, attempt);
    const checkout = checkoutOf(held, phase);
    const { git, top, branch } = checkout;
    await restoreSettings(held, phase, git);
    await restoreRefs(held, phase, git);
    const locks = await dropDeadLocks(top, branch);
    if (locks.length > 0) held.run.warn(`A git that was ended had left ${locks.join(", ")}: removed.`, phase);
    if (await remakeIndex(git))
      held.run.warn(
        `While phase ${phase} worked, the index of git was deleted or damaged: it is made anew, and nothing is staged in it.`,
        phase,
      );
    await restore(held, phase, attempt, checkout);
    putFilesBack(held, phase, attempt);
    const open = await openFiles(git);
    const drafts = removeDrafts(
      git,
      open.untracked,
      (name) => held.crew.all.some((agent) => agent.isDraft(name)),
      attempt.startedAt,
    );
    if (drafts.length > 0)
      held.run.warn(`An agent that was ended had left half-written files: removed ${drafts.join(", ")}.`, phase);
    const files = makeReadable(git, open);
    if (files.length > 0)
      held.run.warn(`Files that could not be read any more can be read again: ${files.slice(0, 10).join(", ")}`, phase);
    const moved = await putSubmodulesBack(git, attempt.origin.baseline, held.run.state.run, textOf(held, phase)).catch(
      asGitError,
    );
    if (!(moved instanceof GitError))
      for (const { path, from, to } of moved)
        held.run.warn(
          `Submodule ${path} was moved to ${from.slice(0, 9)}, which the phase does not ask for: it is back at ${to.slice(0, 9)}.`,
          phase,
        );
  });
}

/** Worktrees that had to be made anew get what was kept of their work. */
export async function regainWork(
  held: HeldRun,
  phases: Iterable<string> = held.run.state.readiness.underWay,
): Promise<void> {
  for (const id of phases) {
    const attempt = lastAttempt(held.run.state.phases.get(id));
    if (attempt !== undefined) await remakeCheckout(held, id, attempt);
  }
}

export interface Looked {
  stashes: number;
  /** Stashes that the agent was told of. */
  told: Set<string>;
}

export const newLook = (held: HeldRun, phase: string): Looked => {
  const { top, branch } = checkoutOf(held, phase);
  return { stashes: readSigns(top, branch).stashes, told: new Set() };
};

/** What would make our own git run something that an agent hid: put back before git looks at its files. */
export async function disarm(held: HeldRun, phase: string): Promise<void> {
  if (held.settings === undefined) return;
  const names = await putCommandsBack(checkoutOf(held, phase).git, held.settings).catch(asGitError);
  if (names instanceof GitError || names.length === 0) return;
  held.run.warn(
    `While phase ${phase} worked, settings that make git run commands were changed, and are as they were: ${names.join(", ")}.`,
    phase,
  );
}

const CLEANS = /(^|[;&|(]\s*)git(\s+-{1,2}[\w.=/-]+(\s+[^\s-]\S*)?)*\s+clean\b/;

/** Between two calls of the agent, which ran these commands: what it is to be told of what it did. */
export async function lookAround(
  held: HeldRun,
  phase: string,
  looked: Looked,
  commands: readonly string[],
): Promise<string[]> {
  const attempt = lastAttempt(held.run.state.phases.get(phase));
  if (attempt === undefined) return [];
  const told: string[] = [];
  const lost = await remakeCheckout(held, phase, attempt);
  if (lost !== undefined) told.push(TOLD.remade(lost));
  const checkout = checkoutOf(held, phase);
  const { top, branch, git } = checkout;
  // What is not in a commit and was finished is not what it meant.
  if (commands.some((command) => CLEANS.test(command))) {
    const back = await bringFilesBack(held, phase, git, attempt.origin.baseline);
    if (back.length > 0) told.push(TOLD.cleaned(back));
  }
  const signs = readSigns(top, branch);
  const isElsewhere = signs.head !== `ref: refs/heads/${branch}` || signs.tip === undefined;
  if (isElsewhere && hasLooseRefs(top)) {
    const what = await restore(held, phase, attempt, checkout);
    if (what !== undefined) told.push(TOLD.branch(what));
  }
  if (signs.stashes > looked.stashes) {
    looked.stashes = signs.stashes;
    for (const { name, sha } of await stashesOf(held, phase, attempt, git)) {
      if (looked.told.has(sha)) continue;
      looked.told.add(sha);
      told.push(TOLD.stash(name));
    }
  } else {
    looked.stashes = signs.stashes;
    // While something is stashed, what came back would be in the way of its return.
    const files = looked.told.size === 0 ? putFilesBack(held, phase, attempt) : [];
    if (files.length > 0) told.push(TOLD.files(files));
  }
  return told;
}

/** What the phase's sessions stashed and nobody took. */
export async function stashesOf(held: HeldRun, phase: string, { startedAt }: Attempt, git: Git): Promise<Stash[]> {
  const { branch, top } = checkoutOf(held, phase);
  if (!hasStash(top)) return [];
  const elsewhere = await branchesElsewhere(git, top).catch(asGitError);
  const others = elsewhere instanceof GitError ? [] : elsewhere;
  return stashesSince(git, startedAt, new Set(others.filter((other) => other !== branch)));
}

const textOf = (held: HeldRun, phase: string): string => phaseOf(held.run.state, phase).text;

/** The tasks that were lost with it; undefined if it is where it should be. */
async function remakeCheckout(held: HeldRun, phase: string, attempt: Attempt): Promise<readonly string[] | undefined> {
  const { worktree } = attempt.origin;
  if (worktree === undefined || attempt.train.merged !== undefined) return undefined;
  const { branch } = worktree;
  const folder = held.checkouts.get(branch);
  const isNew = held.remade.delete(branch);
  const { run, git } = held;
  if (!isNew && folder !== undefined && existsSync(folder)) {
    const repaired = await repairWorktree(git, folder).catch(asGitError);
    if (repaired === "fine") return undefined;
    if (repaired === "repaired") {
      run.warn(
        `While phase ${phase} worked, the .git of its worktree was removed or replaced: it leads to the repository again.`,
        phase,
      );
      return undefined;
    }
  }
  const fact = await makeAnew(held, phase, attempt, branch).catch(asGitError);
  if (fact instanceof GitError) return undefined;
  await run.record(fact);
  return fact.lost;
}

/** Makes the checkout of a phase anew, with what was kept of its work; what is to be written down of it. */
export async function makeAnew(
  held: HeldRun,
  phase: string,
  attempt: Attempt,
  branch: string,
): Promise<FactOf<"checkout-remade">> {
  const folder = await ensureWorktree(held.git, held.worktrees, branch, standsOn(attempt));
  held.checkouts.set(branch, folder);
  const bad = await setUpWorktree(held, folder, `${phase}/a${attempt.number}/remade`);
  if (bad !== undefined && bad.calledOff !== true)
    held.run.warn(
      `worktree_setup failed where phase ${phase} goes on: ${bad.why}\n${bad.output.trim().slice(-1_000)}`,
      phase,
    );
  return fillRemade(held, phase, attempt, { branch, folder });
}

/** A checkout that was made anew gets what was kept of the phase's work; what is to be written down of it. */
export async function fillRemade(
  held: HeldRun,
  phase: string,
  attempt: Attempt,
  { branch, folder }: { branch: string; folder: string },
): Promise<FactOf<"checkout-remade">> {
  const { tasksDone, tasksCommitted } = attempt.progress;
  // On another machine nothing is there of a merge that was not committed, and what was open was that.
  const mergeLost = held.remote !== undefined && attempt.train.merge !== undefined ? true : undefined;
  const brought = mergeLost ? [] : await bringWorkBack(held, phase, new Git(folder), standsOn(attempt));
  const kept = new Set([...tasksCommitted, ...brought]);
  const lost = tasksDone.filter((task) => !kept.has(task));
  return { type: "checkout-remade", phase, attempt: attempt.number, branch, lost, mergeLost };
}

async function restore(
  held: HeldRun,
  phase: string,
  attempt: Attempt,
  { git, top, branch }: Checkout,
): Promise<string | undefined> {
  const { run } = held;
  const { origin, startedAt } = attempt;
  if (origin.worktree === undefined && !held.restores) return undefined;
  const commit = origin.worktree === undefined ? run.state.head : standsOn(attempt);
  const { head, tip } = readSigns(top, branch);
  if (head === `ref: refs/heads/${branch}` && tip === commit) return undefined;
  const restored = await restoreBranch(git, { branch, commit, since: startedAt, run: run.state.run }).catch(asGitError);
  if (restored instanceof GitError || restored.type !== "restored") return undefined;
  run.warn(`While phase ${phase} worked, ${restored.what}.`, phase);
  return restored.what;
}

async function restoreSettings(held: HeldRun, phase: string, git: Git): Promise<void> {
  const { settings, run } = held;
  if (settings === undefined) return;
  const text = textOf(held, phase).toLowerCase();
  const asked = (name: string): boolean =>
    text.includes(name.toLowerCase()) || (name.startsWith("remote.") && /\bgit remote\b/.test(text));
  const back = await putSettingsBack(git, settings, asked).catch(asGitError);
  if (back === undefined || back instanceof GitError) return;
  const kept = run.putBlob(back.was).slice("sha256:".length, "sha256:".length + 12);
  run.warn(
    `While phase ${phase} worked, settings of the repository were changed, and are as they were: ${back.names.join(", ")}. What they had become is blob ${kept} of the run.`,
    phase,
  );
}

/** Before the run's own branch, which has a way of its own back: what is in its commits may be needed. */
async function restoreRefs({ run, refs }: HeldRun, phase: string, git: Git): Promise<void> {
  if (refs === undefined) return;
  const { [`refs/heads/${run.state.branch}`]: _, ...others } = refs.refs;
  const back = await putRefsBack(git, { ...refs, refs: others }).catch(asGitError);
  if (back instanceof GitError || back.length === 0) return;
  run.warn(
    `Deleted while phase ${phase} worked, and put back as it was when the run began: ${back.join(", ")}.`,
    phase,
  );
}

/** What people wrote for Segno, in the run's own checkout: as the phase found it. */
function putFilesBack(held: HeldRun, phase: string, { origin }: Attempt): string[] {
  if (origin.worktree !== undefined) return [];
  const gone = [...held.keptFiles].filter(([path, { content }]) => {
    const size = statSync(join(held.top, path), { throwIfNoEntry: false })?.size;
    return size === undefined || (size === 0 && content.length > 0);
  });
  const back: string[] = [];
  for (const [path, { content, mode }] of gone) {
    try {
      mkdirSync(dirname(join(held.top, path)), { recursive: true });
      writeFileSync(join(held.top, path), content, { mode });
      back.push(path);
    } catch {
      // The next look tries again.
    }
  }
  if (back.length > 0)
    held.run.warn(
      `Deleted or emptied while phase ${phase} worked, and put back as they were: ${back.join(", ")}`,
      phase,
    );
  return back;
}
