/** `gate`: what a gate printed when it was last run, all of it; or the gate once more, now. */
import { join } from "node:path";
import { readRun } from "../../engine/resume.js";
import { runGate } from "../../gates/run.js";
import type { Gate } from "../../plan/model.js";
import type { FactOf, RunEvent } from "../../run/event.js";
import type { RunState } from "../../run/state.js";
import { table } from "../../view/table.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printFailure } from "../print-failure.js";

export interface GateFlags {
  phase?: string;
  of?: string;
  run?: boolean;
  json?: boolean;
}

type Finished = FactOf<"gate-finished"> & RunEvent;

export async function gateCommand(name: string | undefined, flags: GateFlags): Promise<number> {
  const json = flags.json === true;
  const found = await findRun(flags.of, flags);
  if (!found.ok) return printFailure(found.failure, json);
  const { store, run, top } = found.value;
  const read = await readRun(store, run);
  if (!read.ok) return printFailure(read.failure, json);
  const { state, events } = read.value;
  const finished = events.filter((event): event is Finished => event.type === "gate-finished");
  if (name === undefined) return list(state, finished, json);
  const isIt = (each: { name: string }) => each.name.toLowerCase() === name.toLowerCase();
  const planned = state.plan.phases
    .filter(({ id }) => flags.phase === undefined || id === flags.phase)
    .flatMap(({ id, gates }) => gates.filter(isIt).map((gate) => ({ phase: id, gate })));
  const last = finished.findLast((each) => isIt(each) && (flags.phase === undefined || each.phase === flags.phase));
  const [first] = planned;
  if (first === undefined && last === undefined) {
    const names = [...new Set(state.plan.phases.flatMap(({ gates }) => gates.map((gate) => gate.name)))];
    const what = `There is no gate ${name}${flags.phase === undefined ? "" : ` in phase ${flags.phase}`} in run ${run}.`;
    return printFailure({ type: "usage", what, fix: `Its gates: ${names.join(", ") || "none"}.` }, json);
  }
  if (flags.run === true)
    return again(planned.find(({ phase }) => phase === last?.phase)?.gate ?? first?.gate, state, top, json);
  if (last === undefined) {
    console.log(json ? JSON.stringify({ run, name, ran: false }) : `The gate ${name} has not been run yet.`);
    return EXIT.done;
  }
  const output = (await store.getBlob(run, last.output)) ?? "";
  const { phase, passed, exit, ms, why } = last;
  if (json) console.log(JSON.stringify({ run, phase, name: last.name, passed, exit, ms, why, output }));
  else {
    console.log(
      `${last.name}, phase ${phase}: ${passed ? "passed" : "failed"}, ${why}, ${(ms / 1_000).toFixed(1)} s\n`,
    );
    process.stdout.write(output === "" || output.endsWith("\n") ? output : `${output}\n`);
    if (!passed) console.log(`\nrun it again: segno gate '${last.name}' --phase ${phase} --run`);
  }
  return passed ? EXIT.done : EXIT.failed;
}

function list(state: RunState, finished: readonly Finished[], json: boolean): number {
  const rows = state.plan.phases.flatMap(({ id, gates }) =>
    gates.map(({ name, check }) => {
      const last = finished.findLast((each) => each.phase === id && each.name === name);
      const said = last === undefined ? "not yet run" : last.passed ? "passed" : `failed: ${last.why}`;
      return { phase: id, name, said, what: check.type === "command" ? check.command : check.type };
    }),
  );
  if (json) console.log(JSON.stringify(rows));
  else if (rows.length === 0) console.log("The plan has no gates.");
  else
    console.log(
      table(
        ["phase", "gate", "last", "what"],
        rows.map(({ phase, name, said, what }) => [phase, name, said, what]),
      ),
    );
  return EXIT.done;
}

/** In the checkout as it is now, like the run would. */
async function again(gate: Gate | undefined, state: RunState, top: string, json: boolean): Promise<number> {
  if (gate === undefined || gate.check.type !== "command") {
    const what = gate === undefined ? "The plan no longer has this gate." : `${gate.name} is no command.`;
    return printFailure({ type: "usage", what, fix: "segno gate lists the gates and what they are." }, json);
  }
  const { command, prints } = gate.check;
  const env = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const minutes = state.config.gate_timeout_minutes;
  const cwd = join(top, state.folder);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  if (!json) console.log(`$ ${command}`);
  const { passed, why, output, ms, exit } = await runGate({
    command,
    prints,
    cwd,
    env,
    marker: `gate:${process.pid}`,
    timeoutMs: minutes * 60_000,
    signal: stop.signal,
  });
  if (json) console.log(JSON.stringify({ name: gate.name, passed, exit, ms, why, output }));
  else {
    process.stdout.write(output);
    console.log(`\n${passed ? "passed" : "failed"}: ${why}, ${(ms / 1_000).toFixed(1)} s`);
  }
  return passed ? EXIT.done : EXIT.failed;
}
