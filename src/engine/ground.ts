/** Where a phase works: the run's own checkout, or a worktree of its own. */
import { join } from "node:path";
import { Git } from "../git/git.js";
import { lastAttempt, type Worktree } from "../run/phase.js";
import type { RunState } from "../run/state.js";
import type { World } from "./world.js";

export interface Ground {
  git: Git;
  top: string;
  /** The directory below it in which the run was started. */
  cwd: string;
  branch: string;
}

const worktreeOf = ({ phases }: RunState, phase: string): Worktree | undefined =>
  lastAttempt(phases.get(phase))?.ground.worktree;

/** The run's own checkout. */
const ownGround = ({ git, top, cwd, run }: World): Ground => ({ git, top, cwd, branch: run.state.branch });

export function groundOf(world: World, phase: string): Ground {
  const { state } = world.run;
  const worktree = worktreeOf(state, phase);
  if (worktree === undefined) return ownGround(world);
  const { branch } = worktree;
  const folder = world.checkouts.get(branch);
  if (folder === undefined) throw new Error(`nobody knows where ${branch} is checked out`);
  return { git: new Git(folder), top: folder, cwd: join(folder, state.folder), branch };
}

/** Where a phase is merged to: its parent's ground, or the run's. */
export function targetOf(world: World, phase: string): Ground {
  const parent = world.run.state.parents.get(phase);
  return parent === undefined ? ownGround(world) : groundOf(world, parent);
}
