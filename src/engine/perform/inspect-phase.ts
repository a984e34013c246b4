import { isDocumentation } from "../../gates/suspicion.js";
import { isAttempted } from "../../run/phase.js";
import { phaseOf, stateOfPhase } from "../../run/state.js";
import { lookAtChange } from "../change.js";
import type { Performer } from "../performer.js";

/** All gates passed: looks at what the phase really changed, and whether every task was reported. */
export const inspectPhase: Performer<"inspect-phase"> = async (held, { id, phase, attempt }) => {
  const { run } = held;
  const state = stateOfPhase(run.state, phase);
  if (!isAttempted(state)) throw new Error(`phase ${phase} has no attempt`);
  const { progress } = state.attempt;
  const { tasks } = phaseOf(run.state, phase);
  const { files, suspicions } = await lookAtChange(held, phase, state.attempt);
  const unreported = tasks.map((task) => task.id).filter((task) => !progress.tasksDone.includes(task));
  const undocumented = files.length > 0 && !files.some(({ path }) => isDocumentation(path));
  await run.record({ type: "phase-inspected", command: id, phase, attempt, suspicions, unreported, undocumented });
};
