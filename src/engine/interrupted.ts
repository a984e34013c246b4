/** Finds the run to go on with. */
import { Git } from "../git/git.js";
import { worktreeOf } from "../git/worktree.js";
import type { RunState } from "../run/state.js";
import type { Store } from "../store/store.js";
import { readRun } from "./resume.js";

export interface Interrupted {
  run: string;
  state: RunState;
  /** Hours since its last event. */
  hours: number;
}

/** The newest run of this checkout that is not completed: of this plan, or of any. Rehearsals are not taken up again. */
export async function findInterrupted(
  store: Store,
  { top, plan }: { top: string; plan?: string },
  now: Date,
): Promise<Interrupted | undefined> {
  for (const run of await store.list()) {
    const read = await readRun(store, run);
    if (!read.ok) continue;
    const { state, events } = read.value;
    const [first] = events;
    if (first?.type !== "run-started" || first.mode !== "run") continue;
    if (plan !== undefined && state.plan.file !== plan) continue;
    if (await belongsElsewhere(top, state)) continue;
    // Only the newest counts: an older one was left behind for it.
    if (state.status === "completed") return undefined;
    const last = events.at(-1);
    return { run, state, hours: (now.getTime() - Date.parse(last?.at ?? first.at)) / 3_600_000 };
  }
  return undefined;
}

/** Its branch is checked out in another worktree of the user's: it is taken up again there. */
async function belongsElsewhere(top: string, { branch, config }: RunState): Promise<boolean> {
  if (config.workspace === "worktree") return false;
  const place = await worktreeOf(new Git(top), branch).catch(() => undefined);
  return place !== undefined && place !== top;
}
