import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { runGate as execute, type GateVerdict } from "../../gates/run.js";
import type { Gate } from "../../plan/model.js";
import { phaseOf } from "../../run/state.js";
import type { Performer } from "../performer.js";
import { isInside } from "../plan-files.js";
import { markerOf, type World } from "../world.js";

/** Judges one frozen gate. Commands run in the directory the run was started in. */
export const runGate: Performer<"run-gate"> = async (world, { id, phase, attempt, gate: gateId, round }) => {
  const { run } = world;
  const gate = phaseOf(run.state, phase).gates.find((candidate) => candidate.id === gateId);
  if (gate === undefined) throw new Error(`phase ${phase} has no gate ${gateId}`);
  const { passed, exit, ms, why, output: text } = await judge(world, gate, id);
  const output = run.putBlob(text);
  const { name } = gate;
  run.append({
    type: "gate-finished",
    command: id,
    phase,
    attempt,
    gate: gateId,
    name,
    round,
    passed,
    exit,
    ms,
    why,
    output,
  });
};

async function judge({ run, gateEnv }: World, { check }: Gate, id: string): Promise<GateVerdict> {
  switch (check.type) {
    case "command":
      return execute({
        command: check.command,
        prints: check.prints,
        cwd: run.state.cwd,
        env: gateEnv,
        marker: markerOf(run.state.run, id),
        timeoutMs: run.state.config.gate_timeout_minutes * 60_000,
      });
    case "file": {
      const path = join(run.state.top, check.path);
      const passed =
        isInside(run.state.top, path) && existsSync(path) && statSync(path).isFile() && statSync(path).size > 0;
      return { passed, exit: null, ms: 0, why: passed ? "it is there" : `${check.path} was not written`, output: "" };
    }
    case "manual":
      return { passed: false, exit: null, ms: 0, why: MANUAL, output: "" };
    default:
      return check satisfies never;
  }
}

const MANUAL = "a person must look at it";
