import { GitError } from "../../git/git.js";
import { takeBaseline } from "../../git/start.js";
import { stateOfPhase } from "../../run/state.js";
import type { Performer } from "../performer.js";
import { takeUpPlanChanges } from "../plan-reading.js";

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
