/** Begins a run: looks before it leaps, then writes the first event. */
import { relative, resolve } from "node:path";
import type { Config } from "../config/schema.js";
import { tasksInGit } from "../git/history.js";
import { type Opened, openRepository } from "../git/start.js";
import type { ParsedPlan } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";
import { createJournal } from "../store/file.js";
import { redactor } from "../store/redact.js";
import { claimRun } from "./claim.js";
import { bad, good, type Result } from "./failure.js";
import { LiveRun } from "./live-run.js";
import { isInside, type PlanFiles, planFiles } from "./plan-files.js";
import { newRunId, prepareSegnoFolder, runFolder } from "./runs.js";
import { type Hands, type World, worldOf } from "./world.js";

/** A plan in a repository, read and found sound. */
export interface Prepared {
  repository: Extract<Opened, { ok: true }>;
  files: PlanFiles;
  parsed: Extract<ParsedPlan, { ok: true }>;
}

export async function preparePlan(cwd: string, plan: string): Promise<Result<Prepared>> {
  const repository = await openRepository(cwd);
  if (!repository.ok) return bad({ type: "repository", problem: repository.problem, detail: repository.detail });
  const { top } = repository.git;
  const path = resolve(cwd, plan);
  if (!isInside(top, path)) return bad({ type: "plan-outside", file: plan, top });
  const files = planFiles(top);
  const parsed = parsePlan(relative(top, path), files.read);
  return parsed.ok ? good({ repository, files, parsed }) : bad({ type: "plan", diagnostics: parsed.diagnostics });
}

export interface StartOptions {
  cwd: string;
  config: Config;
  mode: "run" | "rehearsal";
  gates: "block" | "report";
  allowDirty: boolean;
}

export async function startRun(
  { repository, files, parsed }: Prepared,
  options: StartOptions,
  hands: Hands,
): Promise<Result<World>> {
  const { git, branch, head, changed, untracked } = repository;
  if (changed.length > 0 && !options.allowDirty) return bad({ type: "dirty", files: changed });
  const { plan } = parsed;
  const id = newRunId(new Date());
  prepareSegnoFolder(git.top);
  const claimed = claimRun(git.top, id);
  if (!claimed.ok) return claimed;
  const folder = runFolder(git.top, id);
  const redact = redactor({ ...process.env, ...hands.agentEnv });
  const journal = createJournal(folder, { epoch: 1, redact, now: () => new Date() });
  const run = new LiveRun(journal, folder, []);
  run.onEvent(hands.onEvent);
  const open = plan.phases.filter((phase) => phase.mark !== "done").map((phase) => phase.id);
  run.append({
    type: "run-started",
    run: id,
    mode: options.mode,
    plan,
    config: options.config,
    parallel: 1,
    gates: options.gates,
    top: git.top,
    cwd: options.cwd,
    branch,
    head,
    takenAsDone: plan.phases.filter((phase) => phase.mark === "done").map((phase) => phase.id),
    tasksInGit: await tasksInGit(git, plan.file, open),
  });
  for (const { message, file, line } of parsed.diagnostics)
    run.append({ type: "warned", message: `${file}:${line}: ${message}` });
  if (untracked.length > 0) run.append({ type: "warned", message: untrackedText(untracked) });
  return good(worldOf(run, git, hands, files, claimed.value));
}

function untrackedText(files: readonly string[]): string {
  const some = files.slice(0, 5).join(", ");
  const what =
    files.length === 1 ? "1 untracked file is yours and stays" : `${files.length} untracked files are yours and stay`;
  return `${what} out of every commit: ${some}${files.length > 5 ? ", …" : ""}`;
}
