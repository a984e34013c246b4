/** The gates once before the first phase: what is red already is no phase's fault, and what must not decrease has a mark. */
import { numberIn } from "../gates/judge.js";
import { runGate } from "../gates/run.js";
import type { FactOf } from "../run/event.js";
import type { HeldRun } from "./held-run.js";
import { markerOf } from "./marker.js";

export async function runGatesBefore({ run, gateEnv, cwd, stop: signal }: HeldRun): Promise<void> {
  const { plan, phases, config, gatesBefore } = run.state;
  const begun = [...phases.values()].some(
    (phase) => phase.step !== "waiting" && phase.step !== "skipped" && phase.step !== "done",
  );
  if (!config.gates_before || gatesBefore !== undefined || begun) return;
  const open = plan.phases.filter(({ id }) => phases.get(id)?.step === "waiting");
  const commands = new Map(
    open.flatMap(({ gates }) =>
      gates.flatMap(({ name, check }) => (check.type === "command" ? [[check.command, { name, check }] as const] : [])),
    ),
  );
  const results: FactOf<"gates-baselined">["results"] = [];
  for (const [command, { name, check }] of commands) {
    if (run.state.stopping !== undefined) return;
    const { calledOff, passed, ms, stdout } = await runGate({
      command,
      prints: check.prints,
      cwd,
      env: gateEnv,
      marker: markerOf(run.state.run, `before/${results.length + 1}`),
      timeoutMs: config.gate_timeout_minutes * 60_000,
      signal,
    });
    if (calledOff === true) return;
    results.push({ command, name, passed, number: numberIn(stdout), ms });
  }
  await run.record({ type: "gates-baselined", results });
}
