/** Begins a run: looks before it leaps, then writes the first event. */
import { relative, resolve } from "node:path";
import type { Agent } from "../agents/agent.js";
import type { Config } from "../config/schema.js";
import { openRepository } from "../git/start.js";
import { parsePlan } from "../plan/parse.js";
import type { RunEvent } from "../run/event.js";
import { createJournal } from "../store/file.js";
import { redactor } from "../store/redact.js";
import { bad, good, type Result } from "./failure.js";
import { LiveRun } from "./live-run.js";
import { isInside, planFiles } from "./plan-files.js";
import { newRunId, prepareSegnoFolder, runFolder } from "./runs.js";
import type { World } from "./world.js";

export interface StartOptions {
  /** The plan, as the user named it from `cwd`. */
  plan: string;
  cwd: string;
  config: Config;
  mode: "run" | "rehearsal";
  gates: "block" | "report";
  allowDirty: boolean;
  agent: Agent;
  agentEnv: Record<string, string>;
  gateEnv: Record<string, string>;
  onEvent: (event: RunEvent) => void;
}

export async function startRun(options: StartOptions): Promise<Result<World>> {
  const { cwd, config } = options;
  const opened = await openRepository(cwd);
  if (!opened.ok) return bad({ type: "repository", problem: opened.problem, detail: opened.detail });
  const { git, branch, head } = opened;
  const path = resolve(cwd, options.plan);
  if (!isInside(git.top, path)) return bad({ type: "plan-outside", file: options.plan, top: git.top });
  const files = planFiles(git.top);
  const parsed = parsePlan(relative(git.top, path), files.read);
  if (!parsed.ok) return bad({ type: "plan", diagnostics: parsed.diagnostics });
  if (config.permission_mode === undefined) return bad({ type: "no-permission-mode" });
  if (opened.changed.length > 0 && !options.allowDirty) return bad({ type: "dirty", files: opened.changed });

  const { plan } = parsed;
  const id = newRunId(new Date());
  prepareSegnoFolder(git.top);
  const folder = runFolder(git.top, id);
  const redact = redactor({ ...process.env, ...options.agentEnv });
  const journal = createJournal(folder, { epoch: 1, redact, now: () => new Date() });
  const run = new LiveRun(journal, folder, []);
  run.onEvent(options.onEvent);
  run.append({
    type: "run-started",
    run: id,
    mode: options.mode,
    plan,
    config,
    parallel: 1,
    gates: options.gates,
    top: git.top,
    cwd,
    branch,
    head,
    takenAsDone: plan.phases.filter((phase) => phase.markedDone).map((phase) => phase.id),
  });
  for (const { message, file, line } of parsed.diagnostics)
    run.append({ type: "warned", message: `${file}:${line}: ${message}` });
  if (opened.untracked.length > 0) {
    const some = opened.untracked.slice(0, 5).join(", ");
    run.append({
      type: "warned",
      message: `${opened.untracked.length} untracked files are yours and stay out of every commit: ${some}${opened.untracked.length > 5 ? ", …" : ""}`,
    });
  }
  return good({
    run,
    git,
    agent: options.agent,
    agentEnv: options.agentEnv,
    gateEnv: options.gateEnv,
    isolated: options.mode === "rehearsal",
    permissionMode: config.permission_mode,
    readPlanFile: files.read,
    writePlanFile: files.write,
    sessions: new Map(),
  });
}
