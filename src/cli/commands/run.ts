import { bad, type Failure, good, type Result } from "../../engine/failure.js";
import { findInterrupted, type Interrupted, samePlan } from "../../engine/interrupted.js";
import { type Prepared, preparePlan, startRun } from "../../engine/start.js";
import { askChoice, isTerminal } from "../ask.js";
import { conduct } from "../conduct.js";
import { agentProblem, realHands } from "../hands.js";
import { permissionMode } from "../permission.js";
import { printFailure } from "../print.js";
import { type ConfigFlags, readSettings, type Settings } from "../settings.js";
import { listenToSignals } from "../signals.js";
import { repositoryTop } from "../top.js";
import { goOn } from "./resume.js";

export interface RunFlags extends ConfigFlags {
  json?: boolean;
  allowDirty?: boolean;
  fresh?: boolean;
}

export async function runCommand(plan: string | undefined, flags: RunFlags): Promise<number> {
  const json = flags.json === true;
  const fail = (failure: Failure) => printFailure(failure, json);
  const settings = await readSettings(process.cwd(), flags);
  if (!settings.ok) return fail(settings.failure);
  if (plan === undefined) return resumeNewest(settings.value, json);
  const prepared = await preparePlan(process.cwd(), plan);
  if (!prepared.ok) return fail(prepared.failure);
  const interrupted = await runToGoOnWith(prepared.value, settings.value, flags);
  if (!interrupted.ok) return fail(interrupted.failure);
  if (interrupted.value !== undefined) return goOn(interrupted.value, settings.value, json);
  const mode = await permissionMode(settings.value.config, settings.value.file, json);
  if (!mode.ok) return fail(mode.failure);
  const { hands, report } = realHands(mode.value, json);
  const config = { ...settings.value.config, permission_mode: mode.value };
  const options = {
    cwd: process.cwd(),
    config,
    mode: "run",
    gates: "block",
    allowDirty: flags.allowDirty === true,
  } as const;
  const unusable = await agentProblem(hands, process.cwd());
  if (unusable !== undefined) return fail(unusable);
  const signals = listenToSignals();
  const started = await startRun(prepared.value, options, hands);
  return started.ok ? conduct(started.value, report, signals, json) : fail(started.failure);
}

async function resumeNewest(settings: Settings, json: boolean): Promise<number> {
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const found = findInterrupted(top.value, undefined, new Date());
  const window = settings.config.resume_window_hours;
  if (found === undefined || found.hours > window) {
    const why =
      found === undefined
        ? "no run is interrupted"
        : `the newest, ${found.run}, was interrupted more than ${window} hours ago`;
    return printFailure({ type: "nothing-to-resume", run: undefined, why }, json);
  }
  return goOn(found, settings, json);
}

/** An interrupted run of this plan: taken up if it is young, asked about if it is old, left if the plan is another. */
async function runToGoOnWith(
  { repository, parsed }: Prepared,
  settings: Settings,
  flags: RunFlags,
): Promise<Result<Interrupted | undefined>> {
  if (flags.fresh === true) return good(undefined);
  const { plan } = parsed;
  const found = findInterrupted(repository.git.top, plan.file, new Date());
  if (found === undefined) return good(undefined);
  const json = flags.json === true;
  if (!samePlan(found.state.plan, plan)) {
    if (!json)
      console.log(`Run ${found.run} of this plan was interrupted, but the plan has changed since: starting anew.`);
    return good(undefined);
  }
  const window = settings.config.resume_window_hours;
  if (found.hours <= window) return good(found);
  if (!isTerminal(json)) return bad({ type: "old-run", run: found.run, plan: plan.file, hours: found.hours, window });
  const choice = await askChoice(
    `Run ${found.run} of this plan was interrupted ${Math.round(found.hours)} hours ago.`,
    [
      { name: "resume", meaning: "go on with it" },
      { name: "fresh", meaning: "start anew" },
    ],
  );
  if (choice === undefined)
    return bad({ type: "old-run", run: found.run, plan: plan.file, hours: found.hours, window });
  return good(choice === "resume" ? found : undefined);
}
