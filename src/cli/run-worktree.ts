/** `workspace: worktree`: a checkout for the run alone, and how its work comes to the user. */
import { relative } from "node:path";
import type { Config } from "../config/schema.js";
import { bad, good, type Result } from "../engine/failure.js";
import { shareSegnoFolder } from "../engine/runs.js";
import { setUpCheckout } from "../engine/set-up.js";
import { type Prepared, preparePlan } from "../engine/start.js";
import { GitError } from "../git/git.js";
import { addWorktree, removeWorktree, worktreesFolder } from "../git/worktree.js";
import type { PlanOptions } from "../plan/model.js";

export interface RunWorktree {
  prepared: Prepared;
  cwd: string;
  /** Says where the work is; takes the checkout away if all of it is on the branch. */
  close: ((completed: boolean, json: boolean) => Promise<void>) | undefined;
}

export async function openRunWorktree(
  { repository }: Prepared,
  plan: string,
  options: PlanOptions,
  config: Config,
): Promise<Result<RunWorktree>> {
  const { git, branch: current } = repository;
  const stamp = new Date().toISOString().replaceAll(/\D/g, "").slice(2, 14);
  const branch = config.branch === "current" || config.branch === "auto" ? `segno/${stamp}` : config.branch;
  const place = await addWorktree(git, worktreesFolder(process.env), branch).catch((error: unknown) => {
    if (error instanceof GitError) return error;
    throw error;
  });
  if (place instanceof GitError) return bad({ type: "branch", branch, why: place.stderr.trim() });
  shareSegnoFolder(git.top, place);
  const cwd = `${place}/${relative(git.top, process.cwd())}`.replace(/\/$/, "");
  const failed = await setUpCheckout(place, {
    command: config.worktree_setup,
    top: git.top,
    env: Object.fromEntries(
      Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    marker: `setup:${branch}`,
    minutes: config.gate_timeout_minutes,
  });
  if (failed !== undefined) {
    const what = `worktree_setup failed (${failed.why}): ${failed.output.trim().split("\n").at(-1) ?? ""}`;
    return bad({ type: "usage", what, fix: `Correct the command; the checkout is ${place}` });
  }
  const prepared = await preparePlan(cwd, plan, options);
  if (!prepared.ok) return prepared;
  const close = async (completed: boolean, json: boolean) => {
    const removed = completed && (await removeWorktree(git, place));
    if (json) return;
    console.log(removed ? `worktree    removed; all of it is on ${branch}` : `worktree    ${place}`);
    console.log(
      `take it     git merge ${branch}   (your checkout is on ${current || "no branch"} and was not touched)`,
    );
  };
  return good({ prepared: prepared.value, cwd, close });
}
