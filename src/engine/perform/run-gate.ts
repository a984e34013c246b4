import { runGate as execute } from "../../gates/run.js";
import { phaseOf } from "../../run/state.js";
import type { Performer } from "../performer.js";
import { markerOf } from "../world.js";

/** Runs one frozen gate in the directory the run was started in. */
export const runGate: Performer<"run-gate"> = async ({ run, gateEnv }, { id, phase, attempt, gate: gateId, round }) => {
  const gate = phaseOf(run.state, phase).gates.find((candidate) => candidate.id === gateId);
  if (gate === undefined) throw new Error(`phase ${phase} has no gate ${gateId}`);
  const verdict = await execute({
    command: gate.command,
    cwd: run.state.cwd,
    env: gateEnv,
    marker: markerOf(run.state.run, id),
    timeoutMs: run.state.config.gate_timeout_minutes * 60_000,
  });
  const { passed, exit, ms, why } = verdict;
  const output = run.putBlob(verdict.output);
  run.append({
    type: "gate-finished",
    command: id,
    phase,
    attempt,
    gate: gateId,
    name: gate.name,
    round,
    passed,
    exit,
    ms,
    why,
    output,
  });
};
