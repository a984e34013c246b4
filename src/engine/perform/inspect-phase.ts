import { isDocumentation, suspicionsIn } from "../../gates/suspicion.js";
import { diffOf } from "../../git/diff.js";
import { isAttempted } from "../../run/phase.js";
import { phaseOf, stateOfPhase } from "../../run/state.js";
import { checkoutOf } from "../checkout.js";
import { changedByPhase } from "../checkpoint.js";
import type { Performer } from "../performer.js";

/** All gates passed: looks at what the phase really changed, and whether every task was reported. */
export const inspectPhase: Performer<"inspect-phase"> = async (held, { id, phase, attempt }) => {
  const { run } = held;
  const { git } = checkoutOf(held, phase);
  const state = stateOfPhase(run.state, phase);
  if (!isAttempted(state)) throw new Error(`phase ${phase} has no attempt`);
  const { origin, progress } = state.attempt;
  const { gates, tasks } = phaseOf(run.state, phase);
  const files = await changedByPhase(git, origin.baseline, run.state.plan);
  const commands = gates.flatMap(({ name, check }) =>
    check.type === "command" ? [{ name, command: check.command }] : [],
  );
  const suspicions = suspicionsIn({
    files,
    diff: await diffOf(git, origin.baseline),
    gates: commands.map((gate) => ({ ...gate, times: run.state.gateTimes.get(gate.command) ?? [] })),
  });
  const unreported = tasks.map((task) => task.id).filter((task) => !progress.tasksDone.includes(task));
  const undocumented = files.length > 0 && !files.some(({ path }) => isDocumentation(path));
  await run.record({ type: "phase-inspected", command: id, phase, attempt, suspicions, unreported, undocumented });
};
