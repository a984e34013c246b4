/** Begins a run: looks before it leaps, then writes the first event. */

import { relative } from "node:path";
import type { Config } from "../config/schema.js";
import { seenRepair } from "../context/forecast.js";
import type { FoundCheck } from "../gates/found/check.js";
import { takeBranch } from "../git/branch.js";
import type { Git } from "../git/git.js";
import { tasksInGit } from "../git/history.js";
import { type Opened, type Opening, openRepository } from "../git/start.js";
import { type FormatName, isDone, type ParsedPlan, type Plan, type PlanOptions } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";
import { markPlanFile } from "../plan/write-back.js";
import { redactor } from "../secrets/redact.js";
import type { Store } from "../store/store.js";
import { agentsOf, shortcomingsOf } from "./crew-of.js";
import { bad, type Failure, good, type Result } from "./failure.js";
import { findPlan } from "./find-plan.js";
import { forecastOf } from "./forecasting.js";
import { checksOf, hasGates, type Tried, tryChecks } from "./found-gates.js";
import { type Handoff, readHandoffs } from "./handoff.js";
import { type Equipment, type HeldRun, heldRun } from "./held-run.js";
import { holdRun } from "./hold.js";
import { LiveRun } from "./live-run.js";
import { type PlanFiles, planFiles } from "./plan-files.js";
import { planOptions } from "./plan-options.js";
import { readPromptTexts } from "./prompt-texts.js";
import { newRunId, prepareSegnoFolder } from "./runs.js";
import { postWarden } from "./warden.js";

/** A plan in a repository, read and found sound. */
export interface Prepared {
  repository: Extract<Opened, { ok: true }>;
  files: PlanFiles;
  parsed: Extract<ParsedPlan, { ok: true }>;
}

/** `plan`: a file, a folder that holds one, or undefined for the only one there is. */
export async function preparePlan(
  cwd: string,
  plan: string | undefined,
  options: PlanOptions,
  opening: Opening = {},
): Promise<Result<Prepared>> {
  const repository = await openRepository(cwd, opening);
  if (!repository.ok) return bad({ type: "repository", problem: repository.problem, detail: repository.detail });
  const { top } = repository.git;
  const found = await findPlan(top, cwd, plan, options);
  if (!found.ok) return found;
  const files = planFiles(top);
  const parsed = parsePlan(found.value, files.read, options);
  return parsed.ok ? good({ repository, files, parsed }) : bad({ type: "plan", diagnostics: parsed.diagnostics });
}

export interface StartOptions {
  cwd: string;
  config: Config;
  mode: "run" | "rehearsal";
  gates: "block" | "report";
  allowDirty: boolean;
  /** Ids to run; undefined means all. */
  only?: readonly string[] | undefined;
  /** Run phases again that the plan marks as done. */
  force?: boolean | undefined;
  format?: FormatName | undefined;
  /** Somebody is at the terminal. */
  attended?: boolean | undefined;
  /** Where the plan has no gate: which of the project's own checks may be run (default: the safe ones). */
  choose?: ((checks: readonly FoundCheck[]) => Promise<readonly FoundCheck[] | undefined>) | undefined;
  /** Something that takes a while is about to begin. */
  say?: ((text: string) => void) | undefined;
  /** The user wants to stop before it has begun. */
  signal?: AbortSignal | undefined;
}

export async function startRun(
  store: Store,
  prepared: Prepared,
  given: StartOptions,
  equipment: Equipment,
): Promise<Result<HeldRun>> {
  const { repository, files } = prepared;
  const { git, head, untracked } = repository;
  const dirty = given.allowDirty ? undefined : await dirtyTree(prepared);
  if (dirty !== undefined) return bad(dirty);
  const { options, parsed, tried } = await withFoundGates(prepared, given, equipment);
  if (given.signal?.aborted === true)
    return bad({
      type: "usage",
      what: "It was stopped before the first phase began.",
      fix: "Start it again when you like.",
    });
  const { plan } = parsed;
  if (options.config.parallel > 1 && !options.config.auto_commit)
    return bad({
      type: "usage",
      what: "Phases cannot be worked on in parallel without commits: they are merged by them.",
      fix: "Leave out --parallel, or switch auto_commit on.",
    });
  const taken = await takeBranch(git, options.config.branch, plan.file, repository.branch);
  if (!taken.ok) return bad({ type: "branch", branch: options.config.branch, why: taken.why });
  const { branch } = taken;
  const texts = readPromptTexts(git.top);
  if (!texts.ok) return texts;
  const id = newRunId(new Date());
  prepareSegnoFolder(git.top);
  const locked = await holdRun(store, id);
  if (!locked.ok) return locked;
  const redact = redactor({ ...process.env, ...equipment.agentEnv });
  const warden = postWarden(id, equipment.revives?.(id, git.top));
  const run = new LiveRun(await store.create(id, { epoch: 1, redact }), []);
  run.onEvent(equipment.onEvent);
  await recordStart(run, store, { id, branch, head, parsed, repository, options, tried }, equipment);
  if (untracked.length > 0) run.warn(untrackedText(untracked));
  await run.flush();
  return good(
    heldRun({ run, store, git, files, texts: texts.value, lock: locked.value, warden, interrupted: false }, equipment),
  );
}

export interface Starting {
  id: string;
  /** Where its work will be, and from where it begins. */
  branch: string;
  head: string;
  parsed: Prepared["parsed"];
  repository: Prepared["repository"];
  options: StartOptions;
  /** What the project's own checks said. */
  tried: Tried;
}

/** The first event, and what is known before the first phase begins. */
export async function recordStart(run: LiveRun, store: Store, starting: Starting, equipment: Equipment): Promise<void> {
  const { id, branch, head, parsed, repository, options, tried } = starting;
  const { git } = repository;
  const { plan } = parsed;
  const done = options.force === true ? [] : plan.phases.filter((phase) => isDone(phase.mark)).map((phase) => phase.id);
  const open = plan.phases.map((phase) => phase.id).filter((phase) => !done.includes(phase));
  const left =
    options.force === true
      ? []
      : [...readHandoffs(git.top, plan, options.config.handoff_dir)].filter(([phase]) => open.includes(phase));
  const inGit =
    options.force === true
      ? {}
      : await tasksInGit(
          git,
          plan.file,
          plan.phases.filter((phase) => open.includes(phase.id)),
        );
  await run.record({
    type: "run-started",
    run: id,
    mode: options.mode,
    plan,
    format: options.format,
    config: options.config,
    parallel: options.config.parallel,
    gates: options.gates,
    attended: options.attended,
    agents: agentsOf(equipment),
    folder: relative(git.top, options.cwd),
    branch,
    head,
    takenAsDone: done,
    leftOut: options.only === undefined ? [] : open.filter((phase) => !options.only?.includes(phase)),
    tasksInGit: tasksDoneBefore(plan, open, { inGit, left: new Map(left), ticks: options.force !== true }),
    handoffs: Object.fromEntries(left.map(([phase, { text }]) => [phase, run.putBlob(text)])),
  });
  if (tried.results.length > 0) run.append({ type: "gates-baselined", results: tried.results });
  for (const message of tried.notices) run.warn(message);
  if (options.force !== true) sayTicked(run, plan, open);
  for (const [phase, { file }] of left)
    run.warn(`Phase ${phase} goes on from ${file}, which an earlier run left.`, phase);
  const chosen = plan.phases.filter(
    ({ id: phase }) => open.includes(phase) && (options.only === undefined || options.only.includes(phase)),
  );
  const learned = await store.learned(equipment.agent.name);
  const { phases, samples, warnings } = forecastOf(
    plan,
    chosen,
    git.top,
    options.config,
    learned,
    equipment.agent.priceOf,
    {
      force: options.force === true,
      quality: options.config.verify === "agent",
    },
  );
  run.append({ type: "forecast-made", phases, samples, tokensPerIssue: seenRepair(learned), warnings });
  for (const message of shortcomingsOf(equipment, options.config)) run.warn(message);
  for (const { message, file, line } of parsed.diagnostics) run.warn(`${file}:${line}: ${message}`);
  if (options.config.parallel > 1 && repository.changed.length > 0)
    run.warn(
      "Phases begin from the newest commit, in worktrees: what you have not committed is not in them, and stays as it is.",
    );
}

/** A plan that nothing would judge gets the project's own checks as gates, as far as they pass now. */
export async function withFoundGates(
  { repository, files, parsed }: Prepared,
  options: StartOptions,
  { gateEnv: env }: Equipment,
): Promise<{ options: StartOptions; parsed: Prepared["parsed"]; tried: Tried }> {
  const nothing: Tried = { gates: {}, results: [], notices: [] };
  const { config, cwd, format, say, signal } = options;
  const { git } = repository;
  if (config.gates_found === "off" || hasGates(parsed.plan, config)) return { options, parsed, tried: nothing };
  const folder = relative(git.top, cwd);
  const checks = checksOf(files.read, folder, parsed.plan);
  const chosen = (await options.choose?.(checks)) ?? checks.filter(({ safe }) => safe);
  const tried = await tryChecks(chosen, { git, cwd, folder, config, env, say, signal });
  const rest = checks.filter((check) => !chosen.includes(check));
  if (rest.length > 0)
    tried.notices.push(
      `Found, and not run, because nobody chose them: ${rest
        .slice(0, 5)
        .map(({ command, where }) => `${command} (${where})`)
        .join(", ")}${rest.length > 5 ? ", …" : ""}. As gates: segno config set project_gates '{tests: your command}'`,
    );
  if (Object.keys(tried.gates).length === 0) return { options, parsed, tried };
  const judged = { ...config, project_gates: tried.gates };
  const again = parsePlan(parsed.plan.file, files.read, planOptions(judged, format));
  return again.ok
    ? { options: { ...options, config: judged }, parsed: again, tried }
    : { options, parsed, tried: nothing };
}

/** What is done already of phases that are open: commits or a handoff say so, or the user's own tick. */
function tasksDoneBefore(
  plan: Plan,
  open: readonly string[],
  { inGit, left, ticks }: { inGit: Record<string, string[]>; left: ReadonlyMap<string, Handoff>; ticks: boolean },
): Record<string, string[]> {
  const before = plan.phases.flatMap(({ id, tasks }) => {
    const named = new Set([...(inGit[id] ?? []), ...(left.get(id)?.tasks_completed ?? [])]);
    const done = tasks.filter((task) => (ticks && task.ticked) || named.has(task.id)).map((task) => task.id);
    return open.includes(id) && done.length > 0 ? [[id, done] as const] : [];
  });
  return Object.fromEntries(before);
}

function sayTicked(run: LiveRun, plan: Plan, open: readonly string[]): void {
  for (const { id, tasks } of plan.phases) {
    const ticked = tasks.filter((task) => task.ticked).map((task) => task.id);
    if (!open.includes(id) || ticked.length === 0) continue;
    const what = `${ticked.length === 1 ? "Task" : "Tasks"} ${ticked.join(", ")}`;
    run.warn(`${what} of phase ${id}: ticked in the plan, so taken as done (--force does them again).`, id);
  }
}

/** A tree with changes of the user's is refused at the start: they could not always be told from the phase's. */
export async function dirtyTree({ repository, files, parsed }: Prepared): Promise<Failure | undefined> {
  const changed = await changedByUser(repository, files, parsed.plan);
  return changed.length > 0 ? { type: "dirty", files: changed } : undefined;
}

/** Tracked files that differ from HEAD, less plan files in which only marks do: those are the run's own. */
async function changedByUser(
  { git, changed }: Prepared["repository"],
  files: PlanFiles,
  plan: Plan,
): Promise<string[]> {
  const theirs: string[] = [];
  for (const file of changed) {
    if (!plan.files.includes(file) || !(await onlyMarksDiffer(git, files, plan, file))) theirs.push(file);
  }
  return theirs;
}

export async function onlyMarksDiffer(git: Git, files: PlanFiles, plan: Plan, file: string): Promise<boolean> {
  const committed = await git.attempt(["cat-file", "blob", `HEAD:${file}`]);
  if (!committed.ok) return false;
  let marked = committed.stdout;
  for (const { id, mark, tasks, file: ofFile } of plan.phases) {
    const tasksDone = tasks.filter((task) => task.ticked).map((task) => task.id);
    const completesFile = plan.phases.every((phase) => phase.file !== ofFile || isDone(phase.mark));
    if (mark !== undefined || tasksDone.length > 0)
      marked = markPlanFile(plan, file, marked, { phase: id, status: mark, tasksDone, completesFile });
  }
  return marked === files.read(file);
}

function untrackedText(files: readonly string[]): string {
  const some = files.slice(0, 5).join(", ");
  const what =
    files.length === 1 ? "1 untracked file is yours and stays" : `${files.length} untracked files are yours and stay`;
  return `${what} out of every commit: ${some}${files.length > 5 ? ", …" : ""}`;
}
