import { takeBaseline } from "../../git/start.js";
import { stateOfPhase } from "../../run/state.js";
import type { Performer } from "../performer.js";

/**
 * Remembers the tree before the phase, so that its commits hold exactly what it changed. A further attempt keeps the
 * first one's: what that left in the tree is the phase's own work.
 */
export const startPhase: Performer<"start-phase"> = async ({ run, git }, { id, phase, attempt }) => {
  const state = stateOfPhase(run.state, phase);
  const before = state.step === "starting" ? state.before : undefined;
  const { head, baseline, staged } = before ?? (await takeBaseline(git, run.state.run, `phase-${phase}-a${attempt}`));
  run.append({ type: "phase-started", command: id, phase, attempt, head, baseline, staged });
};
