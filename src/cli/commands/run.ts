import { startRun } from "../../engine/start.js";
import { RunReport } from "../../view/report.js";
import { agentFor } from "../agent.js";
import { conduct } from "../conduct.js";
import { eventPrinter, printFailure } from "../print.js";
import { type ConfigFlags, readSettings } from "../settings.js";

export interface RunFlags extends ConfigFlags {
  json?: boolean;
  allowDirty?: boolean;
}

export async function runCommand(plan: string, flags: RunFlags): Promise<number> {
  const json = flags.json === true;
  const cwd = process.cwd();
  const settings = await readSettings(cwd, flags);
  if (!settings.ok) return printFailure(settings.failure, json);
  const report = new RunReport();
  const print = eventPrinter(json);
  const env = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const started = await startRun({
    plan,
    cwd,
    config: settings.value,
    mode: "run",
    gates: "block",
    allowDirty: flags.allowDirty === true,
    agent: agentFor("user"),
    agentEnv: env,
    gateEnv: env,
    onEvent: (event) => {
      report.take(event);
      print(event);
    },
  });
  return started.ok ? conduct(started.value, report, json) : printFailure(started.failure, json);
}
