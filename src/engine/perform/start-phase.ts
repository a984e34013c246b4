import { takeBaseline } from "../../git/start.js";
import type { Performer } from "../performer.js";

/** Remembers the tree before the phase, so that its commits hold exactly what it changed. */
export const startPhase: Performer<"start-phase"> = async ({ run, git }, { id, phase, attempt }) => {
  const { head, tree, staged } = await takeBaseline(git, run.state.run, `phase-${phase}-a${attempt}`);
  run.append({ type: "phase-started", command: id, phase, attempt, head, baseline: tree, staged });
};
