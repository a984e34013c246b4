import { forecastOf } from "../../engine/forecasting.js";
import { planOptions } from "../../engine/plan-options.js";
import { isDone } from "../../plan/model.js";
import { FileStore } from "../../store/file.js";
import { thousands } from "../../view/numbers.js";
import { table } from "../../view/table.js";
import { agentFor } from "../agent.js";
import { EXIT } from "../exit.js";
import { readFormat } from "../format.js";
import { printFailure } from "../print-failure.js";
import { readPlan } from "../read-plan.js";
import { type ConfigFlags, readSettings } from "../settings.js";
import { repositoryTop } from "../top.js";

export interface ForecastFlags extends ConfigFlags {
  json?: boolean;
  format?: string;
  force?: boolean;
  quality?: boolean;
}

/** What each phase is expected to need, before anything is spent. */
export async function forecastCommand(plan: string | undefined, flags: ForecastFlags): Promise<number> {
  const json = flags.json === true;
  const settings = await readSettings(process.cwd(), flags);
  if (!settings.ok) return printFailure(settings.failure, json);
  const format = readFormat(flags.format);
  if (!format.ok) return printFailure(format.failure, json);
  const { config } = settings.value;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const read = await readPlan(top.value, plan, planOptions(config, format.value));
  if (!read.ok) return printFailure(read.failure, json);
  const parsed = read.value;
  if (!parsed.ok) return printFailure({ type: "plan", diagnostics: parsed.diagnostics }, json);
  const agent = await agentFor(config.agent, "user", config.accounts);
  if (!agent.ok) return printFailure(agent.failure, json);
  const phases = parsed.plan.phases.filter((phase) => flags.force === true || !isDone(phase.mark));
  const learned = await new FileStore(top.value).learned(config.agent);
  const forecast = forecastOf(parsed.plan, phases, top.value, config, learned, agent.value.priceOf, {
    force: flags.force === true,
    quality: flags.quality === true || config.verify === "agent",
  });
  if (json) {
    console.log(JSON.stringify({ plan: parsed.plan.file, ...forecast }));
    return EXIT.done;
  }
  const rows = forecast.phases.map((phase) => [
    phase.phase,
    thousands(phase.prompt),
    thousands(phase.files),
    thousands(phase.work),
    `${thousands(phase.context)} (${phase.percent} %)`,
    String(phase.sessions),
    String(phase.calls),
    thousands(phase.tokens),
    phase.cost_usd === null ? "?" : `$${phase.cost_usd.toFixed(2)}`,
  ]);
  const { total, samples, window, budget } = forecast;
  const basis =
    samples === 0
      ? "general figures of public sessions; it gets better with the first phases that are run here"
      : `${samples} earlier phases in this repository`;
  console.log(
    `${parsed.plan.title} (${parsed.plan.file}): ${phases.length} phases, window ${thousands(window)}, one session may fill ${thousands(budget)}.\nFrom ${basis}.\n`,
  );
  console.log(table(["phase", "prompt", "files", "work", "context", "sessions", "calls", "tokens", "cost"], rows));
  console.log(
    `\nIn all about ${total.sessions} sessions and ${thousands(total.tokens)} tokens, ${total.cost_usd === null ? "cost unknown: name a model" : `$${total.cost_usd.toFixed(2)} at list prices`}.`,
  );
  for (const warning of forecast.warnings) console.log(`\n! ${warning}`);
  return EXIT.done;
}
