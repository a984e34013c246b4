import { join } from "node:path";
import type { Failure } from "../../engine/failure.js";
import { findInterrupted, type Interrupted } from "../../engine/interrupted.js";
import { type ResumeOptions, readRun, repositoryOn, restoreInterrupted, resumeRun } from "../../engine/resume.js";
import { FileStore } from "../../store/file.js";
import type { Store } from "../../store/store.js";
import { attendedBy, configFor } from "../attended.js";
import { startInBackground } from "../background.js";
import { conduct } from "../conduct.js";
import { configToResume } from "../config-to-resume.js";
import { confirmCommands } from "../confirm-commands.js";
import { findCrew, usableCrew } from "../crew.js";
import { realEquipment } from "../equipment.js";
import { EXIT } from "../exit.js";
import { findRun, runNamed } from "../found-run.js";
import { permissionMode } from "../permission.js";
import { printFailure } from "../print-failure.js";
import { goesToBackground, runInBackground, type ScreenFlags } from "../screen.js";
import { type ConfigFlags, readSettings, type Settings } from "../settings.js";
import { listenToSignals } from "../signals.js";
import { storeHere } from "../store-here.js";
import { repositoryTop } from "../top.js";
import { setUntil } from "../until.js";

type ResumeFlags = ConfigFlags &
  ScreenFlags & { dashboard?: boolean; until?: string; all?: boolean; revived?: ResumeOptions["revived"] };

export async function resumeCommand(run: string | undefined, flags: ResumeFlags): Promise<number> {
  const json = flags.json === true;
  const until = setUntil(flags.until);
  if (!until.ok) return printFailure(until.failure, json);
  const settings = await readSettings(process.cwd(), flags);
  if (!settings.ok) return printFailure(settings.failure, json);
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const store = new FileStore(top.value);
  if (flags.all === true) return resumeAll(store, json);
  if (run === undefined) {
    const found = await findInterrupted(store, { top: top.value }, new Date());
    if (found === undefined) {
      const teams = await stoppedOfTeam(store, top.value, json);
      if (teams !== undefined) return printFailure(teams, json);
      return printFailure({ type: "nothing-to-resume", run: undefined, why: "no run is interrupted" }, json);
    }
    return goOn(store, top.value, found, settings.value, flags);
  }
  const named = runNamed(await store.list(), run);
  if (!named.ok) {
    const teams = await findRun(run, flags);
    if (!teams.ok) return printFailure(teams.failure, json);
    return (await import("./team-run.js")).teamResumeCommand(teams.value.run, top.value, settings.value, flags);
  }
  const read = await readRun(store, named.value);
  if (!read.ok) return printFailure(read.failure, json);
  return goOn(store, top.value, { run: named.value, state: read.value.state }, settings.value, flags);
}

const NEWEST = 20;

/** A run of the whole team is taken up by its name only: it may be somebody else's. */
async function stoppedOfTeam(here: Store, top: string, json: boolean): Promise<Failure | undefined> {
  const { store: all, away } = await storeHere(top, { json });
  if (away !== undefined) return away;
  const own = new Set(await here.list());
  for (const run of (await all.list()).filter((each) => !own.has(each)).slice(0, NEWEST)) {
    const read = await readRun(all, run);
    const status = read.ok ? read.value.state.status : "completed";
    if (status === "stopped" || status === "failed")
      return {
        type: "usage",
        what: `No run of this machine is interrupted. The team's run ${run} is ${status}.`,
        fix: `segno resume ${run}`,
      };
  }
  return undefined;
}

/** Every run whose process is gone, each in the background: nobody is at the terminal after a reboot. */
async function resumeAll(store: Store, json: boolean): Promise<number> {
  let code: number = EXIT.done;
  const begun: string[] = [];
  for (const run of (await store.list()).reverse()) {
    const read = await readRun(store, run);
    if (!read.ok || read.value.state.status !== "running" || read.value.state.mode !== "run") continue;
    if ((await store.holder(run)) !== undefined) continue;
    const started = await startInBackground(["resume", run, "--plain"], {});
    if (!started.ok) {
      code = started.code;
      continue;
    }
    started.release();
    begun.push(run);
    if (!json) console.log(`Run ${run} of ${read.value.state.plan.file} goes on in the background.`);
  }
  if (json) console.log(JSON.stringify({ resumed: begun }));
  else if (begun.length === 0 && code === EXIT.done) console.log("Nothing to resume: no run's process is gone.");
  return code;
}

export async function goOn(
  store: Store,
  top: string,
  { run, state }: Pick<Interrupted, "run" | "state">,
  settings: Settings,
  flags: ResumeFlags,
): Promise<number> {
  const json = flags.json === true;
  if (state.mode === "rehearsal") {
    return printFailure(
      { type: "nothing-to-resume", run, why: "it is a rehearsal, and its stand-in model is gone" },
      json,
    );
  }
  const chosen = configToResume(settings.config, state.config);
  const mode = await permissionMode(chosen, settings.file, json);
  if (!mode.ok) return printFailure(mode.failure, json);
  const confirmed = await confirmCommands(settings, json);
  if (!confirmed.ok) return printFailure(confirmed.failure, json);
  // What was decided about its age here holds there, too.
  const decided = { SEGNO_RESUME_WINDOW_HOURS: "8760" };
  // Later, whoever switched branches may have been the user.
  if (flags.revived !== undefined) await restoreInterrupted(top, state);
  const place = await repositoryOn(top, state.branch);
  if (!place.ok) return printFailure(place.failure, json);
  const { top: at } = place.value.git;
  if (goesToBackground(flags)) return runInBackground(at, flags, [], decided);
  const crew = await findCrew(chosen, state.plan, mode.value, "user");
  if (!crew.ok) return printFailure(crew.failure, json);
  const { equipment: asked, view } = realEquipment(crew.value, mode.value, chosen, json);
  const usable = await usableCrew(crew.value, asked.agentEnv, join(at, state.folder), chosen, state.plan);
  if (!usable.ok) return printFailure(usable.failure, json);
  const equipment = { ...asked, ...usable.value };
  if (!json) console.log(`Going on with run ${run} of ${state.plan.file}.`);
  for (const event of (await store.read(run)).events) view.take(event);
  const signals = listenToSignals();
  // Its own checkout has its own lock.
  const own = new FileStore(at);
  const held = (await own.list()).includes(run) ? own : store;
  const attended = attendedBy(flags);
  const config = configFor(attended, { ...chosen, permission_mode: mode.value });
  const resumed = await resumeRun(held, at, run, config, equipment, {
    attended: attended === "here",
    revived: flags.revived,
  });
  return resumed.ok
    ? conduct(resumed.value, view, signals, { json, dashboard: flags.dashboard })
    : printFailure(resumed.failure, json);
}
