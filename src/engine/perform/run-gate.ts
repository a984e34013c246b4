import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { issuesIn } from "../../gates/issues.js";
import { runGate as execute, type GateVerdict } from "../../gates/run.js";
import { withCleanCheckout } from "../../git/clean-checkout.js";
import type { Git } from "../../git/git.js";
import { unresolved } from "../../git/merge.js";
import type { Gate } from "../../plan/model.js";
import { type GateToPass, gatesToPass } from "../../run/merging.js";
import { type Attempt, isAttempted } from "../../run/phase.js";
import { stateOfPhase } from "../../run/state.js";
import { type Checkout, checkoutOf } from "../checkout.js";
import type { HeldRun } from "../held-run.js";
import { markerOf } from "../marker.js";
import type { Performer } from "../performer.js";
import { isInside } from "../plan-files.js";
import { setUpWorktree } from "../set-up.js";

/** Judges one frozen gate. Commands run in the directory the run was started in. */
export const runGate: Performer<"run-gate"> = async (held, { id, phase, attempt, gate: gateId, round }) => {
  const { run } = held;
  const state = stateOfPhase(run.state, phase);
  if (!isAttempted(state)) throw new Error(`phase ${phase} has no attempt`);
  const gate = gatesToPass(run.state, phase, state.attempt).find((candidate) => candidate.id === gateId);
  if (gate === undefined) throw new Error(`phase ${phase} has no gate ${gateId}`);
  const { calledOff, passed, exit, ms, why, output: text } = await judge(held, gate, id, checkoutOf(held, phase));
  if (calledOff === true) {
    await run.record({ type: "command-abandoned", command: id, why: "the run was asked to stop" });
    return;
  }
  const output = run.putBlob(text);
  const { name } = gate;
  await run.record({
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
    ...(passed ? {} : { tail: lastLines(text), issues: issuesIn(stripVTControlCharacters(text)) }),
    ...(passed ? await withoutWork(held, gate, `${id}/without`, state.attempt) : {}),
  });
};

/** A rehearsal also tells whether a gate that passes can fail at all: on the tree that the phase began from. */
async function withoutWork(
  held: HeldRun,
  { check }: GateToPass,
  id: string,
  { number, origin, repairs, train }: Attempt,
): Promise<{ without?: boolean }> {
  const first = number === 1 && repairs.count === 0 && train.merge === undefined;
  if (!held.triesGates || !first || check.type !== "command") return {};
  const { passed } = await runClean(held, check, id, held.git, origin.baseline);
  return { without: passed };
}

const MOST_LINES = 12;
const MOST_CHARS = 1_500;

/** The end of what it printed: enough to see why, wherever it is shown. */
const lastLines = (text: string): string =>
  stripVTControlCharacters(text)
    .trimEnd()
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-MOST_LINES)
    .join("\n")
    .slice(-MOST_CHARS);

async function judge(
  held: HeldRun,
  { check }: GateToPass,
  id: string,
  checkout: Checkout,
): Promise<Omit<GateVerdict, "stdout">> {
  const { run } = held;
  switch (check.type) {
    case "command":
      return run.state.config.gates_on === "tree"
        ? runCommand(held, check, id, checkout.cwd)
        : runClean(held, check, id, checkout.git);
    case "file": {
      const path = join(checkout.top, check.path);
      const passed =
        isInside(checkout.top, path) && existsSync(path) && statSync(path).isFile() && statSync(path).size > 0;
      return { passed, exit: null, ms: 0, why: passed ? "it is there" : `${check.path} was not written`, output: "" };
    }
    case "resolved": {
      const left = unresolved(checkout.top, check.paths);
      const passed = left.length === 0;
      const why = passed ? "none is marked" : `still marked in ${left.join(", ")}`;
      return { passed, exit: null, ms: 0, why, output: left.join("\n") };
    }
    case "manual":
      return { passed: false, exit: null, ms: 0, why: MANUAL, output: "" };
    default:
      return check satisfies never;
  }
}

type CommandCheck = Extract<Gate["check"], { type: "command" }>;

function runCommand(
  { run, gateEnv, stop: signal }: HeldRun,
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
    signal,
  });
}

/** On a clean checkout of what would be committed, or of a tree, prepared as the user says. */
async function runClean(
  held: HeldRun,
  check: CommandCheck,
  id: string,
  git: Git,
  of?: string,
): Promise<Omit<GateVerdict, "stdout">> {
  const inCheckout = async (checkout: string): Promise<Omit<GateVerdict, "stdout">> => {
    const setup = await setUpWorktree(held, checkout, id);
    if (setup !== undefined) return { ...setup, why: `worktree_setup: ${setup.why}` };
    return runCommand(held, check, id, join(checkout, held.run.state.folder));
  };
  return withCleanCheckout(git, inCheckout, of);
}

const MANUAL = "a person must look at it";
