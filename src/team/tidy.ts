/** What runs that are over left in a worker's clones is of no use to anybody: what counts is in the journal and on the remote. */
import { existsSync, rmSync } from "node:fs";
import { stateOf } from "../engine/resume.js";
import type { Git } from "../git/git.js";
import { dropRefs } from "../git/refs.js";
import { phaseBranch, removeWorktree, worktreesBelow } from "../git/worktree.js";
import { checkoutOf, clonesIn, type Machine, runsIn } from "./machine.js";
import { keptRefs, runsSeen } from "./remote.js";

/** `busy`: runs that something is done for here now. None begins meanwhile. */
export async function tidyMachine({ folder, store }: Machine, busy: ReadonlySet<string>): Promise<void> {
  const clones = clonesIn(folder);
  const found = new Set([...runsIn(folder), ...(await Promise.all(clones.map(runsSeen))).flat()]);
  if (found.size === 0) return;
  const there = new Set(await store.list());
  for (const run of found) {
    if (busy.has(run)) continue;
    const read = there.has(run) ? await store.read(run) : undefined;
    // One that stopped may go on: then from what is on the remote, wherever that is.
    const isOver = read === undefined || (read.ok && stateOf(read.events)?.status !== "running");
    if (isOver) for (const clone of clones) await forget(clone, folder, run);
  }
}

async function forget(clone: Git, folder: string, run: string): Promise<void> {
  const branches = `refs/heads/${phaseBranch(run, "")}`;
  for (const place of [checkoutOf(folder, run), ...(await worktreesBelow(clone, branches))])
    if (existsSync(place) && !(await removeWorktree(clone, place, true)))
      rmSync(place, { recursive: true, force: true });
  await clone.attempt(["worktree", "prune"]);
  for (const refs of [branches, ...keptRefs(run)]) await dropRefs(clone, refs);
}
