import { GitError } from "../../git/git.js";
import { beginMerge, bringAlong, changedSinceParting, contains, findSwap, swapIn, tipOf } from "../../git/merge.js";
import { removeMerged } from "../../git/worktree.js";
import { sharingWith } from "../../run/merging.js";
import { type Attempt, isAttempted } from "../../run/phase.js";
import { phaseOf, stateOfPhase } from "../../run/state.js";
import { checkoutOf, mergeTargetOf } from "../checkout.js";
import type { HeldRun } from "../held-run.js";
import { markPlan } from "../marks.js";
import type { Performer } from "../performer.js";
import { messageOf, trailersOf } from "./commit.js";

/**
 * One stop of the merge train. If the phase's branch contains its target's newest commit, it is swapped in; else that
 * commit is merged into the phase's worktree, for the gates to judge.
 */
export const mergePhase: Performer<"merge-phase"> = async (held, { id, phase, attempt }) => {
  const { run } = held;
  try {
    await merge(held, id, phase, attempt);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const why = `Phase ${phase} could not be merged: ${error.message}. Its work is on ${checkoutOf(held, phase).branch}.`;
    await run.record({ type: "merge-failed", command: id, phase, attempt, why });
  }
};

async function merge(held: HeldRun, id: string, phase: string, attempt: number): Promise<void> {
  const { run } = held;
  const state = stateOfPhase(run.state, phase);
  if (!isAttempted(state) || state.attempt.origin.worktree === undefined)
    throw new Error(`phase ${phase} has no worktree`);
  const checkout = checkoutOf(held, phase);
  const target = mergeTargetOf(held, phase);
  const made = await findSwap(held.git, target.branch, { run: run.state.run, command: id });
  // One that was made before a crash may have lost its branch already.
  const tip = made?.tip ?? (await tipOf(held.git, checkout.branch));
  const base = made?.base ?? (await tipOf(held.git, target.branch));
  const files = (await changedSinceParting(held.git, base, tip)).filter((path) => !run.state.plan.files.includes(path));
  if (made === undefined && !(await contains(held.git, tip, base))) {
    const conflicts = await beginMerge(checkout.git, base, run.state.plan.files);
    const sharing = sharingWith(run.state, phase, files);
    await run.record({ type: "merge-begun", command: id, phase, attempt, base, tip, conflicts, sharing });
    return;
  }
  const sha = made?.sha ?? (await swap(held, { id, phase, base, tip, branch: target.branch }, state.attempt));
  // Somebody moved the branch in this moment: from the beginning.
  if (sha === undefined) return merge(held, id, phase, attempt);
  const keep = run.state.parents.has(phase) && target.git !== held.git ? [] : run.state.plan.files;
  const leftBehind = await bringAlong(target.git, target.branch, { from: base, to: sha, keep });
  const into = target.branch;
  // Before it is said: with the last phase the run is over, and nobody would remove it any more.
  const kept = await removeMerged(held.git, { folder: checkout.top, branch: checkout.branch });
  await run.record({ type: "phase-merged", command: id, phase, attempt, sha, into, files, leftBehind });
  if (kept === undefined) return;
  run.warn(`The worktree of phase ${phase} stays, because ${kept}: git worktree list shows ${checkout.branch}.`, phase);
}

async function swap(
  held: HeldRun,
  { id, phase, base, tip, branch }: { id: string; phase: string; base: string; tip: string; branch: string },
  state: Attempt,
): Promise<string | undefined> {
  const { run, git } = held;
  const { plan, config } = run.state;
  const planned = phaseOf(run.state, phase);
  const marked = await markPlan(held, phase, { status: "done", tasksDone: state.progress.tasksDone }, base);
  return swapIn(git, {
    branch,
    base,
    tip,
    message: messageOf(config.commit_message_template, phase, planned.title, "phase"),
    run: run.state.run,
    command: id,
    trailers: trailersOf(held, phase, state, "done"),
    planFiles: plan.files,
    // A sub-phase's marks reach the history with its phase.
    marked: branch === run.state.branch ? marked : new Map(),
  });
}
