import { GitError } from "../../git/git.js";
import { takeBaseline } from "../../git/start.js";
import { stateOfPhase } from "../../run/state.js";
import type { Performer } from "../performer.js";
import { takeUpPlanChanges } from "../plan-reading.js";
import type { World } from "../world.js";

function asGitError(error: unknown): GitError {
  if (error instanceof GitError) return error;
  throw error;
}

/**
 * Takes up what the user changed in the plan, then remembers the tree before the phase, so that its commits hold exactly
 * what it changed. A further attempt keeps the first one's: what that left in the tree is the phase's own work.
 */
export const startPhase: Performer<"start-phase"> = async (world, { id, phase, attempt }) => {
  const { run, git } = world;
  await takeUpPlanChanges(world);
  const planned = run.state.plan.phases.find((candidate) => candidate.id === phase);
  const ready = planned?.dependsOn.every((other) =>
    ["done", "skipped"].includes(run.state.phases.get(other)?.step ?? ""),
  );
  if (planned === undefined || ready !== true) {
    run.append({
      type: "command-abandoned",
      command: id,
      why: "the plan was changed: the phase is gone, or waits for another now",
    });
    return;
  }
  const moved = await headMoved(world);
  if (moved !== undefined) {
    run.append({ type: "head-moved", ...moved }, { type: "command-abandoned", command: id, why: "HEAD was moved" });
    return;
  }
  const state = stateOfPhase(run.state, phase);
  const before = state.step === "starting" ? state.before : undefined;
  const taken = before ?? (await takeBaseline(git, run.state.run, `phase-${phase}-a${attempt}`).catch(asGitError));
  if (taken instanceof GitError) {
    run.append(
      {
        type: "phase-failed",
        phase,
        attempt,
        category: "agent_error",
        message: `The tree cannot be read: ${taken.message}`,
        recommendation: "ask",
      },
      { type: "command-abandoned", command: id, why: "git could not read the tree" },
    );
    return;
  }
  const { head, baseline, staged } = taken;
  run.append({ type: "phase-started", command: id, phase, attempt, head, baseline, staged });
};

/** Where HEAD is, if that is not what the run left or something on top of it. */
async function headMoved({ run, git }: World): Promise<{ from: string; to: string } | undefined> {
  const from = run.state.head;
  const to = await git.line(["rev-parse", "HEAD"]);
  if (from === to) return undefined;
  const descends = await git.attempt(["merge-base", "--is-ancestor", from, to]);
  if (!descends.ok) return { from, to };
  const count = await git.line(["rev-list", "--count", `${from}..${to}`]);
  run.append({
    type: "warned",
    message: `${count} commits that are not the run's came in since: it goes on from ${to.slice(0, 9)}.`,
  });
  return undefined;
}
