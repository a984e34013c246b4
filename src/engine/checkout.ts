/** Where a phase works: the run's own checkout, or a worktree of its own. */
import { join } from "node:path";
import { Git } from "../git/git.js";
import { tipOf } from "../git/merge.js";
import { lastAttempt, type Worktree } from "../run/phase.js";
import type { RunState } from "../run/state.js";
import type { HeldRun } from "./held-run.js";

export interface Checkout {
  git: Git;
  top: string;
  /** The directory below it in which the run was started. */
  cwd: string;
  branch: string;
}

const worktreeOf = ({ phases }: RunState, phase: string): Worktree | undefined =>
  lastAttempt(phases.get(phase))?.origin.worktree;

/** The run's own checkout. */
const ownGround = ({ git, top, cwd, run }: HeldRun): Checkout => ({ git, top, cwd, branch: run.state.branch });

export function checkoutOf(held: HeldRun, phase: string): Checkout {
  const { state } = held.run;
  const worktree = worktreeOf(state, phase);
  if (worktree === undefined) return ownGround(held);
  const { branch } = worktree;
  const folder = held.checkouts.get(branch);
  if (folder === undefined) throw new Error(`nobody knows where ${branch} is checked out`);
  return { git: new Git(folder), top: folder, cwd: join(folder, state.folder), branch };
}

/** Where a phase is merged to: its parent's checkout, or the run's. */
export function mergeTargetOf(held: HeldRun, phase: string): Checkout {
  const parent = held.run.state.parents.get(phase);
  return parent === undefined ? ownGround(held) : checkoutOf(held, parent);
}

/** Where that is now: a branch may be anybody's on a remote, and what the journal says is the truth there. */
export const standsAt = ({ git, run, remote }: HeldRun, { branch }: Checkout): Promise<string> =>
  remote === undefined ? tipOf(git, branch) : Promise.resolve(run.state.head);
