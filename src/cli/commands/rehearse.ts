import { join, relative } from "node:path";
import { good, type Result } from "../../engine/failure.js";
import { planOptions } from "../../engine/plan-options.js";
import { setUpCheckout } from "../../engine/set-up.js";
import { preparePlan, startRun } from "../../engine/start.js";
import type { PlanOptions } from "../../plan/model.js";
import { selectPhases } from "../../plan/select.js";
import { removeOldRehearsals } from "../../rehearsal/past.js";
import { startStandIn } from "../../rehearsal/server.js";
import { EXAMPLE_PLAN, rehearsalEnv, type Stage, sameFolder, stageClone, stageExample } from "../../rehearsal/stage.js";
import { worker } from "../../rehearsal/worker.js";
import { FileStore } from "../../store/file.js";
import { RunView } from "../../view/board.js";
import { gatesReport } from "../../view/gates-report.js";
import { conduct } from "../conduct.js";
import { confirmCommands } from "../confirm-commands.js";
import { findCrew, usableCrew } from "../crew.js";
import { readFormat } from "../format.js";
import { noSuchPhase } from "../no-such-phase.js";
import { eventPrinter } from "../print.js";
import { printFailure } from "../print-failure.js";
import { hasScreen } from "../screen.js";
import { type ConfigFlags, readSettings } from "../settings.js";
import { listenToSignals } from "../signals.js";

export interface RehearseFlags extends ConfigFlags {
  plain?: boolean;
  dashboard?: boolean;
  json?: boolean;
  example?: boolean;
  format?: string;
  enforceGates?: boolean;
  charsPerTask?: string;
  only?: string;
  phases?: string;
}

/** A model with a window of 200,000 tokens, as most have. */
const MODEL = "claude-sonnet-4-5";
const WINDOW = 200_000;

export async function rehearseCommand(plan: string | undefined, flags: RehearseFlags): Promise<number> {
  const json = flags.json === true;
  const example = flags.example === true;
  const charsPerTask = Number(flags.charsPerTask ?? (example ? 12_000 : 4_000));
  if (!Number.isInteger(charsPerTask) || charsPerTask < 0 || charsPerTask > 1_000_000) {
    return printFailure(
      {
        type: "usage",
        what: `--chars-per-task is ${flags.charsPerTask}.`,
        fix: "Give a whole number from 0 to 1000000.",
      },
      json,
    );
  }
  const cwd = process.cwd();
  const format = readFormat(flags.format);
  if (!format.ok) return printFailure(format.failure, json);
  const own = await readSettings(cwd, flags);
  if (!own.ok && !example) return printFailure(own.failure, json);
  const options = own.ok && !example ? planOptions(own.value.config, format.value) : {};
  await removeOldRehearsals(async (top) => (await new FileStore(top).checkoutHolder()) !== undefined);
  const set = example ? await stageOfExample() : await stageFor(cwd, plan, options);
  if (!set.ok) return printFailure(set.failure, json);
  const { stage, place, from, file } = set.value;
  const preset = { model: MODEL, permission_mode: "all", ...(example ? { context_limit: 40_000 } : {}) };
  const settings = await readSettings(example ? stage.repository : cwd, flags, preset);
  if (!settings.ok) return printFailure(settings.failure, json);
  const { config } = settings.value;
  const confirmed = await confirmCommands(settings.value, json);
  if (!confirmed.ok) return printFailure(confirmed.failure, json);
  const env = (url: string) => rehearsalEnv(stage, url);
  const permissions = config.permission_mode ?? "all";
  const prepared = await preparePlan(place, file, options);
  if (!prepared.ok) return printFailure(prepared.failure, json);
  const { plan: parsed } = prepared.value.parsed;
  const found = await findCrew(config, parsed, permissions, "bundled");
  if (!found.ok) return printFailure(found.failure, json);
  const crew = await usableCrew(found.value, env("http://127.0.0.1:9"), stage.repository, config, parsed);
  if (!crew.ok) return printFailure(crew.failure, json);
  const done = new Map<string, number>();
  const standIn = await startStandIn({
    window: WINDOW,
    behaviour: worker({
      charsPerTask,
      onTask: ({ phase, task }) => done.set(`${phase}/${task}`, (done.get(`${phase}/${task}`) ?? 0) + 1),
      onRefused: ({ phase, task }) => done.set(`${phase}/${task}`, (done.get(`${phase}/${task}`) ?? 1) - 1),
    }),
  });
  try {
    const view = new RunView();
    const screen = hasScreen(flags);
    const print = screen ? () => {} : eventPrinter(json, view);
    const agentEnv = env(standIn.url);
    const selected = selectPhases(prepared.value.parsed.plan, flags);
    if (!selected.ok) return printFailure(noSuchPhase(selected.unknown, prepared.value.parsed.plan), json);
    const setUp = await setUpCheckout(stage.repository, {
      command: example ? undefined : config.worktree_setup,
      top: from,
      env: { ...agentEnv, HOME: process.env.HOME ?? stage.home },
      marker: `setup:${process.pid}`,
      minutes: config.gate_timeout_minutes,
    });
    if (setUp !== undefined && !json)
      console.log(`worktree_setup failed in the clone (${setUp.why}); gates that need it cannot be judged.`);
    const gates = example || flags.enforceGates === true ? "block" : "report";
    const signals = listenToSignals();
    const started = await startRun(
      new FileStore(prepared.value.repository.git.top),
      prepared.value,
      {
        cwd: place,
        config,
        mode: "rehearsal",
        gates,
        only: selected.ids,
        allowDirty: false,
        format: format.value,
        say: json || screen ? undefined : (text) => console.log(text),
        signal: signals.early,
      },
      {
        ...crew.value,
        agentEnv,
        gateEnv: { ...agentEnv, HOME: process.env.HOME ?? stage.home },
        isolated: true,
        triesGates: true,
        permissions,
        worktrees: join(stage.folder, "worktrees"),
        onEvent: (event) => {
          view.take(event);
          print(event);
        },
      },
    );
    if (!started.ok) return printFailure(started.failure, json);
    const code = await conduct(started.value, view, signals, { json, dashboard: flags.dashboard, screen });
    const { store, run } = started.value;
    const gatesSaid = json ? [] : gatesReport((await store.read(run.state.run)).events);
    if (gatesSaid.length > 0) console.log(`gates       ${gatesSaid.join("\n            ")}`);
    const twice = [...done.values()].filter((times) => times > 1).length;
    if (!json)
      console.log(
        `rehearsed   ${done.size} tasks done by the stand-in model, ${twice} of them more than once; no key, no cost`,
      );
    return code;
  } finally {
    await standIn.close();
  }
}

interface Staged {
  stage: Stage;
  /** Where the run is started, where it comes from, and its plan, as one would name it there. */
  place: string;
  from: string;
  file: string;
}

async function stageOfExample(): Promise<Result<Staged>> {
  const stage = await stageExample();
  return good({ stage, place: stage.repository, from: stage.repository, file: EXAMPLE_PLAN });
}

async function stageFor(cwd: string, plan: string | undefined, options: PlanOptions): Promise<Result<Staged>> {
  const prepared = await preparePlan(cwd, plan, options, { detached: true, looks: true });
  if (!prepared.ok) return prepared;
  const { repository, parsed } = prepared.value;
  const { top } = repository.git;
  const stage = await stageClone(top, parsed.plan.files);
  const file = relative(cwd, join(top, parsed.plan.file));
  return good({ stage, place: sameFolder(stage, top, cwd), from: top, file });
}
