import { existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { runGate as execute, type GateVerdict } from "../../gates/run.js";
import { withCleanCheckout } from "../../git/clean-checkout.js";
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

async function judge(world: World, { check }: Gate, id: string): Promise<Omit<GateVerdict, "stdout">> {
  const { run } = world;
  switch (check.type) {
    case "command":
      return run.state.config.gates_on === "tree"
        ? runCommand(world, check, id, run.state.cwd)
        : runClean(world, check, id);
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

type CommandCheck = Extract<Gate["check"], { type: "command" }>;

function runCommand(
  { run, gateEnv }: World,
  { command, prints, noDecrease }: CommandCheck,
  id: string,
  cwd: string,
): Promise<GateVerdict> {
  const before = run.state.gatesBefore?.get(command)?.number;
  return execute({
    command,
    prints: noDecrease === true ? { noDecrease, before } : prints,
    cwd,
    env: gateEnv,
    marker: markerOf(run.state.run, id),
    timeoutMs: run.state.config.gate_timeout_minutes * 60_000,
  });
}

/** On a clean checkout of what would be committed, prepared as the user says. */
async function runClean(world: World, check: CommandCheck, id: string): Promise<Omit<GateVerdict, "stdout">> {
  const { run, git, gateEnv } = world;
  const { top, cwd, config } = run.state;
  return withCleanCheckout(git, async (checkout) => {
    const place = join(checkout, relative(top, cwd));
    if (config.worktree_setup !== undefined) {
      const setup = await execute({
        command: config.worktree_setup,
        cwd: checkout,
        env: { ...gateEnv, SEGNO_CHECKOUT: top },
        marker: markerOf(run.state.run, id),
        timeoutMs: config.gate_timeout_minutes * 60_000,
      });
      if (!setup.passed) return { ...setup, why: `worktree_setup: ${setup.why}` };
    }
    return runCommand(world, check, id, place);
  });
}

const MANUAL = "a person must look at it";
