/** `run --team`: begins a run that the whole team works on, and shows it; whoever conducts it is elsewhere. */
import { once } from "node:events";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { agentsOf } from "../../engine/crew-of.js";
import { bad, type Failure, good, type Result } from "../../engine/failure.js";
import { LiveRun } from "../../engine/live-run.js";
import { planOptions } from "../../engine/plan-options.js";
import { type Prepared, preparePlan } from "../../engine/start.js";
import type { Git } from "../../git/git.js";
import { isDone } from "../../plan/model.js";
import { selectPhases } from "../../plan/select.js";
import { isLineLost } from "../../store/postgres/database.js";
import type { PgStore } from "../../store/postgres/store.js";
import type { OpenTeam } from "../../team/open.js";
import { inTheWay, inTurn, offer, resumeTeamRun, startTeamRun } from "../../team/start.js";
import { RunView } from "../../view/board.js";
import { isOverAfter } from "../../view/lines.js";
import { figuresOf } from "../../view/report.js";
import { attach } from "../attach.js";
import { attendedBy, configFor } from "../attended.js";
import { chooseChecks } from "../choose-checks.js";
import { exitCode, printSummary } from "../conduct.js";
import { configToResume } from "../config-to-resume.js";
import { findCrew } from "../crew.js";
import { dryRun } from "../dry-run.js";
import { realEquipment } from "../equipment.js";
import { EXIT } from "../exit.js";
import { readFormat } from "../format.js";
import { noSuchPhase } from "../no-such-phase.js";
import { permissionMode } from "../permission.js";
import { eventPrinter } from "../print.js";
import { printFailure } from "../print-failure.js";
import { hasScreen } from "../screen.js";
import type { Settings } from "../settings.js";
import { connectFailure, openTeamOf, type Reached, reachTeam, remoteUrl } from "../team.js";
import type { RunFlags } from "./run.js";

const usage = (what: string, fix: string): Failure => ({ type: "usage", what, fix });

export async function teamRunCommand(plan: string | undefined, flags: RunFlags, settings: Settings): Promise<number> {
  const json = flags.json === true;
  const fail = (failure: Failure): number => printFailure(failure, json);
  if (flags.until !== undefined)
    return fail(
      usage(
        "--until ends a run whose process is here; a team's run is conducted wherever it is held.",
        "Leave it out and limit it with max_hours (segno config set max_hours 6), or say segno stop when it is time.",
      ),
    );
  const format = readFormat(flags.format);
  if (!format.ok) return fail(format.failure);
  const reading = planOptions(settings.config, format.value);
  const prepared = await preparePlan(process.cwd(), plan, reading, { detached: true, looks: flags.dryRun === true });
  if (!prepared.ok) return fail(prepared.failure);
  const { plan: parsed } = prepared.value.parsed;
  const selected = selectPhases(parsed, flags);
  if (!selected.ok) return fail(noSuchPhase(selected.unknown, parsed));
  if (flags.dryRun === true) return dryRun(parsed, selected.ids, flags.force === true, json);
  if (flags.force !== true && parsed.phases.every(({ mark }) => isDone(mark)))
    return fail(
      usage(`Nothing is left to do: all phases of ${parsed.file} are marked as done.`, "Run them again with --force."),
    );
  const { git } = prepared.value.repository;
  const mode = await permissionMode(settings.config, settings.file, json);
  if (!mode.ok) return fail(mode.failure);
  const reached = await reachTeam(git.top, {});
  if (!reached.ok) return fail(reached.failure);
  const url = await remoteUrl(git, reached.value.settings.remote);
  if (!url.ok) return fail(url.failure);
  const branch = await mayWorkOn(git, url.value, settings.config.branch, flags.onDefaultBranch === true);
  if (!branch.ok) return fail(branch.failure);
  const crew = await findCrew(settings.config, parsed, mode.value, "user");
  if (!crew.ok) return fail(crew.failure);
  const { redact } = reached.value;
  const opened = await openTeamOf(reached.value, { worker: hostname(), supervises: false });
  if (!opened.ok) return fail(opened.failure);
  const attended = attendedBy(flags);
  const config = configFor(attended, { ...settings.config, permission_mode: mode.value });
  const { equipment } = realEquipment(crew.value, mode.value, config, true);
  try {
    const fresh = (flags.fresh ?? flags.force) === true;
    // Asked before the project's checks are tried, which may take long; and once more when it is its turn.
    const plan = fresh ? undefined : parsed.file;
    const other = await inTheWay(opened.value.store, { branch: settings.config.branch, plan });
    if (other !== undefined) return fail(other);
    const started = await startTeamRun(
      { url: url.value, store: opened.value.store, queues: opened.value.queues, redact },
      prepared.value,
      {
        cwd: process.cwd(),
        config,
        mode: "run",
        gates: "block",
        allowDirty: flags.allowDirty === true,
        only: selected.ids,
        force: flags.force,
        fresh,
        attended: attended === "here",
        format: format.value,
        choose: chooseChecks(config, attended, json),
        say: json ? undefined : (text) => console.log(text),
      },
      { ...equipment, onEvent: () => {} },
    );
    if (!started.ok) return fail(started.failure);
    return await show(opened.value, started.value, prepared.value, flags);
  } catch (error) {
    if (!isLineLost(error)) throw error;
    return fail(connectFailure(reached.value.settings.url, error, redact));
  } finally {
    await opened.value.close();
  }
}

/** Takes up a team's run that failed or was stopped. */
export async function teamResumeCommand(
  run: string,
  top: string,
  settings: Settings,
  flags: RunFlags,
): Promise<number> {
  const json = flags.json === true;
  const reached = await reachTeam(top, {});
  if (!reached.ok) return printFailure(reached.failure, json);
  const opened = await openTeamOf(reached.value, { worker: hostname(), supervises: false });
  if (!opened.ok) return printFailure(opened.failure, json);
  try {
    const { store, queues } = opened.value;
    const taken = await inTurn(store, () => takeUp(reached.value, store, run, settings, flags));
    if (!taken.ok) return printFailure(taken.failure, json);
    await offer(queues, run);
    return await show(opened.value, run, undefined, flags);
  } catch (error) {
    if (!isLineLost(error)) throw error;
    return printFailure(connectFailure(reached.value.settings.url, error, reached.value.redact), json);
  } finally {
    await opened.value.close();
  }
}

/** One that goes on already is only shown. */
async function takeUp(
  { redact }: Pick<Reached, "redact">,
  store: PgStore,
  run: string,
  settings: Settings,
  flags: RunFlags,
): Promise<Result<void>> {
  const joined = await store.steer(run, redact);
  if (joined === undefined) return bad({ type: "no-run", run });
  const live = new LiveRun(joined.journal, joined.events);
  try {
    const { status, plan, branch, config: before } = live.state;
    if (status === "running") return good(undefined);
    if (status === "completed") return bad({ type: "nothing-to-resume", run, why: "all its phases are done" });
    const other = await inTheWay(store, { branch, plan: plan.file });
    if (other !== undefined) return bad(other);
    const attended = attendedBy(flags);
    // How the team divides the work was settled when it began.
    const { parallel, split } = before;
    const chosen = { ...configToResume(settings.config, before), parallel, split, branch: before.branch };
    const mode = chosen.permission_mode;
    const config = configFor(attended, chosen);
    const crew = await findCrew(config, plan, mode ?? "listed", "user");
    if (!crew.ok) return crew;
    const { equipment } = realEquipment(crew.value, mode ?? "listed", config, true);
    await resumeTeamRun(live, config, attended === "here", agentsOf(equipment));
    return good(undefined);
  } finally {
    await live.close();
  }
}

/** Until it is over, or the user leaves: the run goes on without this terminal. */
async function show(team: OpenTeam, run: string, prepared: Prepared | undefined, flags: RunFlags): Promise<number> {
  const json = flags.json === true;
  const { store } = team;
  // From now on it goes on without this terminal, and whoever leaves is told.
  const leaves = hasScreen(flags) || flags.detach === true ? undefined : whenAskedToLeave();
  // It has begun, whatever becomes of the line now.
  const workers = (await patiently(() => store.workers())).filter(({ lost }) => !lost);
  if (!json) {
    console.log(`Run ${run} is the team's now, on branch ${(await branchOf(team, run)) ?? ""}.`);
    if (workers.length === 0) console.log("No worker is there yet. Start one, on any machine: segno worker");
    console.log(
      `  segno watch ${run}   the live screen\n  segno team status   who works on what\n  segno stop          stop it gracefully`,
    );
  }
  if (flags.detach === true) {
    if (json) console.log(JSON.stringify({ run, workers: workers.length }));
    return EXIT.done;
  }
  const top = prepared?.repository.git.top ?? process.cwd();
  if (leaves === undefined) await attach({ store, run, top }, { canDetach: true, untilOver: true, ownsRun: false });
  else if (!(await printUntilOver(team, run, json, leaves))) {
    console.error(
      `\nRun ${run} goes on without this terminal: segno watch ${run} shows it, segno stop --run ${run} stops it.`,
    );
    return EXIT.interrupted;
  }
  const view = new RunView();
  for (const event of (await patiently(() => store.read(run))).events) view.take(event);
  if (view.board === undefined || view.folded === undefined) return EXIT.done;
  const { state } = view.folded;
  // The user left the screen.
  if (state.status === "running") return EXIT.done;
  if (!json) printSummary(figuresOf(view.board), { top, journal: store.where(run) });
  return exitCode(state);
}

async function branchOf({ store }: OpenTeam, run: string): Promise<string | undefined> {
  const [first] = (await patiently(() => store.read(run))).events;
  return first?.type === "run-started" ? first.branch : undefined;
}

const whenAskedToLeave = (): Promise<unknown> =>
  Promise.race((["SIGINT", "SIGTERM"] as const).map((signal) => once(process, signal)));

/** Whether it came to its end; the user may leave before. */
async function printUntilOver(
  { store }: OpenTeam,
  run: string,
  json: boolean,
  leaves: Promise<unknown>,
): Promise<boolean> {
  const view = new RunView();
  const print = eventPrinter(json, view);
  let over = false;
  const ended = new Promise<void>((resolve) => {
    void store.watch(run, (events) => {
      for (const event of events) {
        view.take(event);
        print(event);
        over = isOverAfter(event, over);
      }
      if (over) resolve();
    });
  });
  await Promise.race([ended, leaves]);
  return over;
}

const PATIENCE_MS = 30_000;
const AGAIN_MS = 500;

/** Looks again while the line is lost. */
async function patiently<T>(look: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + PATIENCE_MS; ; await sleep(AGAIN_MS)) {
    try {
      return await look();
    } catch (error) {
      if (!isLineLost(error) || performance.now() > until) throw error;
    }
  }
}

/** What everybody builds on is moved only where the user says so. */
async function mayWorkOn(git: Git, url: string, branch: string, said: boolean): Promise<Result<string>> {
  if (branch === "current" || branch === "auto" || said) return good(branch);
  const listed = await git.attempt(["ls-remote", "--symref", url, "HEAD"]);
  const main = /^ref: refs\/heads\/(\S+)\tHEAD/m.exec(listed.stdout)?.[1];
  if (main !== branch) return good(branch);
  return bad(
    usage(
      `${branch} is the remote's default branch: each phase would be on it as soon as it is done.`,
      "Leave --branch out: the run gets a branch of its own. Or say that you want it: --on-default-branch",
    ),
  );
}
