import { join, relative } from "node:path";
import { bad, type Failure, good, type Result } from "../../engine/failure.js";
import { findInterrupted, type Interrupted } from "../../engine/interrupted.js";
import { planOptions } from "../../engine/plan-options.js";
import { samePlan } from "../../engine/plan-reading.js";
import { dirtyTree, type Prepared, preparePlan, startRun } from "../../engine/start.js";
import { isDone, type Plan } from "../../plan/model.js";
import { parsePlan } from "../../plan/parse.js";
import { selectPhases } from "../../plan/select.js";
import { FileStore } from "../../store/file.js";
import { askChoice, isTerminal } from "../ask.js";
import { type AttendedFlags, attendedBy, configFor } from "../attended.js";
import { chooseChecks } from "../choose-checks.js";
import { conduct } from "../conduct.js";
import { confirmCommands } from "../confirm-commands.js";
import { findCrew, usableCrew } from "../crew.js";
import { dryRun } from "../dry-run.js";
import { realEquipment } from "../equipment.js";
import { EXIT } from "../exit.js";
import { readFormat } from "../format.js";
import { noSuchPhase } from "../no-such-phase.js";
import { permissionMode } from "../permission.js";
import { printFailure } from "../print-failure.js";
import { openRunWorktree } from "../run-worktree.js";
import { goesToBackground, runInBackground } from "../screen.js";
import { type ConfigFlags, readSettings, type Settings } from "../settings.js";
import { listenToSignals } from "../signals.js";
import { repositoryTop } from "../top.js";
import { setUntil } from "../until.js";
import { goOn } from "./resume.js";

export interface RunFlags extends ConfigFlags, AttendedFlags {
  allowDirty?: boolean;
  fresh?: boolean;
  format?: string;
  phases?: string;
  from?: string;
  only?: string;
  force?: boolean;
  dryRun?: boolean;
  detach?: boolean;
  plain?: boolean;
  dashboard?: boolean;
  until?: string;
  /** On all machines of the team. */
  team?: boolean;
  onDefaultBranch?: boolean;
}

export async function runCommand(plan: string | undefined, flags: RunFlags): Promise<number> {
  const json = flags.json === true;
  const fail = (failure: Failure) => printFailure(failure, json);
  const until = setUntil(flags.until);
  if (!until.ok) return fail(until.failure);
  const settings = await readSettings(process.cwd(), flags);
  if (!settings.ok) return fail(settings.failure);
  if (flags.team === true) return (await import("./team-run.js")).teamRunCommand(plan, flags, settings.value);
  const anew = flags.fresh ?? flags.force ?? flags.only ?? flags.phases ?? flags.from;
  const newest = plan === undefined && anew === undefined ? await goOnWithNewest(settings.value, flags) : undefined;
  if (newest !== undefined) return newest;
  const format = readFormat(flags.format);
  if (!format.ok) return fail(format.failure);
  const { branch } = settings.value.config;
  const reading = planOptions(settings.value.config, format.value);
  const prepared = await preparePlan(process.cwd(), plan, reading, {
    detached: branch !== "current",
    looks: flags.dryRun === true,
  });
  if (!prepared.ok) return fail(prepared.failure);
  const { plan: parsed } = prepared.value.parsed;
  const { top } = prepared.value.repository.git;
  const file = relative(process.cwd(), join(top, parsed.file));
  const selected = selectPhases(parsed, flags);
  if (!selected.ok) return fail(noSuchPhase(selected.unknown, parsed));
  if (flags.dryRun === true) return dryRun(parsed, selected.ids, flags.force === true, json);
  const store = new FileStore(top);
  const inWorktree = settings.value.config.workspace === "worktree";
  const holder = inWorktree ? undefined : await store.checkoutHolder();
  if (holder !== undefined) return fail({ type: "held", what: "checkout", ...holder });
  const interrupted = await runToGoOnWith(prepared.value, settings.value, flags);
  if (!interrupted.ok) return fail(interrupted.failure);
  if (interrupted.value !== undefined) return goOn(store, top, interrupted.value, settings.value, flags);
  const left = parsed.phases.filter(
    ({ id, mark }) => (!isDone(mark) || flags.force === true) && (selected.ids?.includes(id) ?? true),
  );
  if (left.length === 0) return nothingLeft(parsed, selected.ids, json);
  const dirty = inWorktree || flags.allowDirty === true ? undefined : await dirtyTree(prepared.value);
  if (dirty !== undefined) return fail(dirty);
  const mode = await permissionMode(settings.value.config, settings.value.file, json);
  if (!mode.ok) return fail(mode.failure);
  const confirmed = await confirmCommands(settings.value, json);
  if (!confirmed.ok) return fail(confirmed.failure);
  if (goesToBackground(flags)) return runInBackground(top, flags, ["--fresh"]);
  const crew = await findCrew(settings.value.config, parsed, mode.value, "user");
  if (!crew.ok) return fail(crew.failure);
  const { equipment: asked, view } = realEquipment(crew.value, mode.value, settings.value.config, json);
  const attended = attendedBy(flags);
  const config = configFor(attended, { ...settings.value.config, permission_mode: mode.value });
  const usable = await usableCrew(crew.value, asked.agentEnv, process.cwd(), config, parsed);
  if (!usable.ok) return fail(usable.failure);
  const equipment = { ...asked, ...usable.value };
  const worktree = inWorktree ? await openRunWorktree(prepared.value, file, reading, config) : undefined;
  if (worktree?.ok === false) return fail(worktree.failure);
  const place = worktree?.value ?? { prepared: prepared.value, cwd: process.cwd(), close: undefined };
  const signals = listenToSignals();
  const started = await startRun(
    new FileStore(place.prepared.repository.git.top),
    place.prepared,
    {
      cwd: place.cwd,
      config: inWorktree ? { ...config, branch: "current" } : config,
      mode: "run",
      gates: "block",
      allowDirty: inWorktree || flags.allowDirty === true,
      only: selected.ids,
      force: flags.force,
      attended: attended === "here",
      format: format.value,
      choose: chooseChecks(config, attended, json),
      say: json ? undefined : (text) => console.log(text),
      signal: signals.early,
    },
    equipment,
  );
  if (!started.ok) return fail(started.failure);
  const code = await conduct(started.value, view, signals, { json, dashboard: flags.dashboard });
  if (place.close !== undefined) await place.close(started.value.run.state.status === "completed", json);
  return code;
}

function nothingLeft({ file, phases }: Plan, only: readonly string[] | undefined, json: boolean): number {
  const which = only === undefined ? `all ${phases.length} phases` : `phases ${only.join(", ")}`;
  const message = `Nothing is left to do: ${which} of ${file} are marked as done. Run them again with --force.`;
  console.log(json ? JSON.stringify({ ok: true, message }) : message);
  return EXIT.done;
}

/** Undefined where no run is interrupted. */
async function goOnWithNewest(settings: Settings, flags: RunFlags): Promise<number | undefined> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const store = new FileStore(top.value);
  const found = await findInterrupted(store, { top: top.value }, new Date());
  const window = settings.config.resume_window_hours;
  if (found === undefined) return undefined;
  if (found.hours > window) {
    const why = `the newest, ${found.run}, was interrupted more than ${window} hours ago`;
    return printFailure({ type: "nothing-to-resume", run: undefined, why }, json);
  }
  if (flags.dryRun !== true) return goOn(store, top.value, found, settings, flags);
  const { plan, phases } = found.state;
  const done = (id: string) => ["done", "skipped"].includes(phases.get(id)?.step ?? "");
  if (!json) console.log(`It would go on with run ${found.run}.`);
  const marked = plan.phases.map((phase) => (done(phase.id) ? { ...phase, mark: "done" as const } : phase));
  return dryRun({ ...plan, phases: marked }, undefined, false, json);
}

/** An interrupted run of this plan: taken up if it is young, asked about if it is old, left if the plan is another. */
async function runToGoOnWith(
  { repository, parsed, files }: Prepared,
  settings: Settings,
  flags: RunFlags,
): Promise<Result<Interrupted | undefined>> {
  const chosen = flags.phases ?? flags.from ?? flags.only;
  if (flags.fresh === true || flags.force === true || chosen !== undefined) return good(undefined);
  const { plan } = parsed;
  const found = await findInterrupted(
    new FileStore(repository.git.top),
    { top: repository.git.top, plan: plan.file },
    new Date(),
  );
  if (found === undefined) return good(undefined);
  const json = flags.json === true;
  // Gates that it found for itself are its own.
  const { config, format } = found.state;
  const asBefore = parsePlan(plan.file, files.read, planOptions(config, format)).plan;
  if (!samePlan(found.state.plan, plan) && (asBefore === undefined || !samePlan(found.state.plan, asBefore))) {
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
