import { GitError } from "../../git/git.js";
import {
  beginMerge,
  bringAlong,
  changedSinceParting,
  contains,
  findSwap,
  land,
  makeMergeCommit,
  mergedIn,
  tipOf,
} from "../../git/merge.js";
import { removeMerged, trainRef } from "../../git/worktree.js";
import type { Command } from "../../run/command.js";
import { carsBefore, sharingWith } from "../../run/merging.js";
import { type Attempt, isAttempted } from "../../run/phase.js";
import { phaseOf, stateOfPhase } from "../../run/state.js";
import { type Checkout, checkoutOf, mergeTargetOf, standsAt } from "../checkout.js";
import { RemoteRefuses } from "../code-remote.js";
import type { HeldRun } from "../held-run.js";
import { markedPlan, markPlan } from "../marks.js";
import type { Performer } from "../performer.js";
import { doneMark, messageOf, trailersOf } from "./commit.js";

type MergePhase = Extract<Command, { type: "merge-phase" }>;

/**
 * One stop of the merge train. A phase that was tested with all that is before it lands. One that has nothing before it
 * but what it began from lands at once; any other is taken in: merged, in its own worktree, with what comes before it.
 */
export const mergePhase: Performer<"merge-phase"> = async (held, command) => {
  const { run } = held;
  const { id, phase, attempt } = command;
  try {
    await merge(held, command);
  } catch (error) {
    if (!(error instanceof GitError || error instanceof RemoteRefuses)) throw error;
    const why = `Phase ${phase} could not be merged: ${error.message}. Its work is on ${checkoutOf(held, phase).branch}.`;
    await run.record({ type: "merge-failed", command: id, phase, attempt, why });
  }
};

/** Of a phase in a worktree: it, where it works and where it goes. */
interface Car {
  command: MergePhase;
  attempt: Attempt;
  checkout: Checkout;
  target: Checkout;
}

async function merge(held: HeldRun, command: MergePhase): Promise<void> {
  const { run, git } = held;
  const { id, phase, lands } = command;
  const state = stateOfPhase(run.state, phase);
  if (!isAttempted(state) || state.attempt.origin.worktree === undefined)
    throw new Error(`phase ${phase} has no worktree`);
  const target = mergeTargetOf(held, phase);
  const car: Car = { command, attempt: state.attempt, checkout: checkoutOf(held, phase), target };
  await held.remote?.fetch();
  const now = await standsAt(held, target);
  if (lands !== undefined) {
    // Also where it was done before a crash.
    const base = await git.line(["rev-parse", `${lands}^1`]);
    if ((await contains(git, now, lands)) || (await land(git, target.branch, lands, base)))
      return arrive(held, car, lands);
  }
  const made = held.remote === undefined && (await findSwap(git, target.branch, { run: run.state.run, command: id }));
  if (made) return arrive(held, car, made.sha);
  await takeIn(held, car, now);
}

/** Taken in behind another, as long as that one goes where this one goes. */
async function takeIn(held: HeldRun, car: Car, now: string): Promise<void> {
  const { run, git } = held;
  const { command, checkout, target } = car;
  const { id, phase, attempt } = command;
  const onto = command.onto !== undefined && (await contains(git, command.onto.commit, now)) ? command.onto : undefined;
  const base = onto?.commit ?? now;
  const tip = await tipOf(git, checkout.branch);
  // Where others conduct, they bring it in: here it is only made ready.
  if (held.remote === undefined && onto === undefined && (await contains(git, tip, base))) {
    const sha = await commitOf(held, car, { base, tip, tree: tip });
    // Somebody moved the branch in this moment: from the beginning.
    if (!(await land(git, target.branch, sha, base))) return takeIn(held, car, await tipOf(git, target.branch));
    return arrive(held, car, sha);
  }
  const { files: planFiles } = run.state.plan;
  const files = (await changedSinceParting(git, base, tip)).filter((path) => !planFiles.includes(path));
  const conflicts = await beginMerge(checkout.git, base, planFiles);
  const sharing = sharingWith(run.state, phase, files, onto?.phase);
  const candidate =
    conflicts.length > 0
      ? undefined
      : await commitOf(held, car, { base, tip, tree: await checkout.git.line(["write-tree"]) }, onto?.phase);
  // Nothing else holds it until it lands.
  if (candidate !== undefined) await git.raw(["update-ref", trainRef(run.state.run, phase), candidate]);
  await held.remote?.sendCommits(phase);
  const begun = { base, tip, behind: onto?.phase, candidate, conflicts, sharing, files };
  await run.record({ type: "merge-begun", command: id, phase, attempt, ...begun });
}

async function commitOf(
  held: HeldRun,
  { command: { id, phase }, attempt, target }: Car,
  what: { base: string; tip: string; tree: string },
  behind?: string,
): Promise<string> {
  const { run, git } = held;
  const { plan, config } = run.state;
  const doneBefore = carsBefore(run.state, behind).map(([other]) => other);
  const status = doneMark(held, phase);
  const marks = { status, tasksDone: attempt.progress.tasksDone, doneBefore };
  return makeMergeCommit(git, {
    ...what,
    message: messageOf(
      config.commit_message_template,
      phase,
      phaseOf(run.state, phase).title,
      status === "done" ? "phase" : status,
    ),
    run: run.state.run,
    command: id,
    trailers: trailersOf(held, phase, attempt, "done"),
    planFiles: plan.files,
    // A sub-phase's marks reach the history with its phase.
    marked: target.branch === run.state.branch ? await markedPlan(held, phase, marks, what.base) : new Map(),
  });
}

/** It is on the branch: the checkout comes along, and its own is needed no more. */
async function arrive(held: HeldRun, { command, attempt, checkout, target }: Car, sha: string): Promise<void> {
  const { run, git } = held;
  const { id, phase } = command;
  const { plan, parents } = run.state;
  const { base, tip } = await mergedIn(git, sha);
  const files = (await changedSinceParting(git, base, tip)).filter((path) => !plan.files.includes(path));
  await markPlan(held, phase, { status: doneMark(held, phase), tasksDone: attempt.progress.tasksDone }, sha);
  const keep = parents.has(phase) && target.git !== held.git ? [] : plan.files;
  const leftBehind = await bringAlong(target.git, target.branch, { from: base, to: sha, keep });
  // What is there beside the merge was made by gates: all of the phase's own is in the commit.
  const wasTested = attempt.train.merge?.candidate === sha;
  // Before it is said: with the last phase the run is over, and nobody would remove it any more.
  const place = { folder: checkout.top, branch: checkout.branch };
  const kept = await removeMerged(git, place, wasTested);
  await git.attempt(["update-ref", "-d", trainRef(run.state.run, phase)]);
  const into = target.branch;
  const merged = { type: "phase-merged", command: id, phase, attempt: command.attempt } as const;
  await run.record({ ...merged, sha, into, files, leftBehind });
  if (kept === undefined) return;
  run.warn(`The worktree of phase ${phase} stays, because ${kept}: git worktree list shows ${checkout.branch}.`, phase);
}
