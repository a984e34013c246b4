/** The gates once before the first phase: what is red already is no phase's fault, and what must not decrease has a mark. */
import { numberIn } from "../gates/judge.js";
import { type GateVerdict, runGate } from "../gates/run.js";
import type { Gate } from "../plan/model.js";
import type { FactOf } from "../run/event.js";
import type { HeldRun } from "./held-run.js";
import { markerOf } from "./marker.js";

type Results = FactOf<"gates-baselined">["results"];

interface ToRun {
  name: string;
  check: Extract<Gate["check"], { type: "command" }>;
}

export async function runGatesBefore(held: HeldRun): Promise<void> {
  const { run } = held;
  const { plan, phases, config, gatesBefore } = run.state;
  const begun = [...phases.values()].some(
    (phase) => phase.step !== "waiting" && phase.step !== "skipped" && phase.step !== "done",
  );
  if (!config.gates_before || gatesBefore !== undefined || begun) return;
  const open = plan.phases.filter(({ id }) => phases.get(id)?.step === "waiting");
  const commands = new Map(
    open.flatMap(({ gates }) =>
      gates.flatMap(({ name, check }) =>
        check.type === "command" ? [[check.command, { name, check }] as [string, ToRun]] : [],
      ),
    ),
  );
  const results = await inTurn([...commands.values()], held, config.parallel);
  if (results !== undefined) await run.record({ type: "gates-baselined", results });
}

/**
 * As many at once as phases are worked on at once. They share one checkout here, and may be in each other's way: one whose
 * number counts and that fails beside others is run once more, alone; that another one failed is only told. Undefined where
 * the run was asked to stop meanwhile.
 */
async function inTurn(gates: readonly ToRun[], held: HeldRun, atOnce: number): Promise<Results | undefined> {
  const verdicts: (GateVerdict | undefined)[] = gates.map(() => undefined);
  const waiting = [...gates.keys()];
  const take = async (): Promise<void> => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) verdicts[n] = await runOnce(gates[n], n, held);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, gates.length) }, take));
  const results: Results = [];
  for (const [n, gate] of gates.entries()) {
    const beside = verdicts[n];
    const isMark = gate.check.noDecrease === true;
    const verdict = atOnce > 1 && isMark && beside?.passed === false ? await runOnce(gate, n, held) : beside;
    if (verdict === undefined || verdict.calledOff === true) return undefined;
    const { passed, ms, stdout } = verdict;
    results.push({ command: gate.check.command, name: gate.name, passed, number: numberIn(stdout), ms });
  }
  return results;
}

async function runOnce(gate: ToRun | undefined, n: number, held: HeldRun): Promise<GateVerdict | undefined> {
  const { run, gateEnv: env, cwd, stop: signal } = held;
  const { stopping, config } = run.state;
  if (gate === undefined || stopping !== undefined) return undefined;
  return runGate({
    command: gate.check.command,
    prints: gate.check.prints,
    cwd,
    env,
    marker: markerOf(run.state.run, `before/${n + 1}`),
    timeoutMs: config.gate_timeout_minutes * 60_000,
    signal,
  });
}
