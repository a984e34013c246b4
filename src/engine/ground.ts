/** Where a phase works: the run's own checkout, or a worktree of its own. */
import { join, relative } from "node:path";
import { Git } from "../git/git.js";
import { type Attempt, isAttempt, type RunState, stateOfPhase, type Worktree } from "../run/state.js";
import type { World } from "./world.js";

export interface Ground {
  git: Git;
  top: string;
  /** The directory below it in which the run was started. */
  cwd: string;
  branch: string;
}

export function worktreeOf(state: RunState, phase: string): Worktree | undefined {
  const now = stateOfPhase(state, phase);
  const attempt: Partial<Attempt> | undefined = isAttempt(now)
    ? now
    : now.step === "failed"
      ? now.attempted
      : undefined;
  return attempt?.worktree;
}

export function groundOf(world: World, phase: string): Ground {
  const { state } = world.run;
  const worktree = worktreeOf(state, phase);
  if (worktree === undefined) return { git: world.git, top: state.top, cwd: state.cwd, branch: state.branch };
  const { folder, branch } = worktree;
  return { git: new Git(folder), top: folder, cwd: join(folder, relative(state.top, state.cwd)), branch };
}

/** Where a phase is merged to: its parent's ground, or the run's. */
export function targetOf(world: World, phase: string): Ground {
  const { state } = world.run;
  const parent = state.parents.get(phase);
  if (parent !== undefined) return groundOf(world, parent);
  return { git: world.git, top: state.top, cwd: state.cwd, branch: state.branch };
}
