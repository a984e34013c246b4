/** `.segno/HANDOFF.md`: what a phase that could not go on leaves for people, and for the next run of its plan. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse, stringify } from "yaml";
import { asideRef } from "../git/aside.js";
import { commitAlone } from "../git/commit-alone.js";
import type { Plan } from "../plan/model.js";
import type { StopCause } from "../run/event.js";
import type { FailureCategory, PhaseFailure } from "../run/outcome.js";
import { type Attempt, isAttempted } from "../run/phase.js";
import { phaseOf, stateOfPhase } from "../run/state.js";
import { writeWhole } from "../store/atomic.js";
import { checkoutOf } from "./checkout.js";
import { changedByPhase, checkpointFor } from "./checkpoint.js";
import type { HeldRun } from "./held-run.js";

/** Where the phase itself is not wrong: something else kept it from its end. */
const CATEGORIES: ReadonlySet<FailureCategory> = new Set([
  "context_exhaustion",
  "usage_limit",
  "budget",
  "stuck",
  "timeout",
  "crashed",
  "agent_error",
]);

interface Front {
  plan: string;
  phase: string;
  run: string;
  failure_category: string;
  recommendation: string;
  tasks_completed: string[];
  tasks_remaining: string[];
  files_modified: string[];
  /** Where what it left in the checkout is, if that was set aside. */
  aside?: string;
}

export interface Handoff extends Front {
  file: string;
  text: string;
}

const isHandoff = (name: string): boolean => /^HANDOFF.*\.md$/.test(name);

/** Handoffs of this plan, by phase; what is not one is left alone. `dir`: where they are beside `.segno/`. */
export function readHandoffs(top: string, plan: Plan, dir?: string | undefined): Map<string, Handoff> {
  const found = new Map<string, Handoff>();
  for (const folder of new Set([".segno", ...foldersOf(plan, dir)])) {
    const full = join(top, folder);
    for (const name of existsSync(full) ? readdirSync(full).filter(isHandoff).sort() : []) {
      const text = readFileSync(join(full, name), "utf8");
      const front = frontOf(text);
      if (front === undefined || front.plan !== plan.file) continue;
      if (plan.phases.some((phase) => phase.id === front.phase))
        found.set(front.phase, { ...front, file: join(folder, name), text });
    }
  }
  return found;
}

const foldersOf = (plan: Plan, dir: string | undefined): string[] =>
  dir === undefined ? [] : dir === "phase" ? plan.phases.map(({ file }) => dirname(file)) : [dir];

/** The folder in which a phase's handoff is left. */
const folderFor = (plan: Plan, phase: string, dir: string | undefined): string =>
  dir === "phase" ? dirname(plan.phases.find(({ id }) => id === phase)?.file ?? plan.file) : (dir ?? ".segno");

function frontOf(text: string): Front | undefined {
  const block = /^---\n([\s\S]*?)\n---\n/.exec(text)?.[1];
  if (block === undefined) return undefined;
  try {
    const front = parse(block) as Partial<Front> | null;
    const lists = [front?.tasks_completed, front?.tasks_remaining, front?.files_modified];
    if (front === null || typeof front?.plan !== "string" || !lists.every(Array.isArray)) return undefined;
    return {
      ...(front as Front),
      phase: String(front.phase),
      tasks_completed: (front.tasks_completed ?? []).map(String),
    };
  } catch {
    return undefined;
  }
}

export async function writeHandoff(held: HeldRun, phase: string): Promise<void> {
  const { run } = held;
  const state = stateOfPhase(run.state, phase);
  if (state.step !== "failed" || state.last === undefined || !CATEGORIES.has(state.failure.category)) return;
  const { config } = run.state;
  const setsAside = state.last.origin.worktree === undefined && config.auto_commit && !config.commit_on_failure;
  await write(held, phase, state.failure, state.last, setsAside);
}

/** Stops that are not the user's own. */
const STOPPED_BY: Partial<Record<StopCause, FailureCategory>> = { "usage-limit": "usage_limit", budget: "budget" };

/** A run that a limit or its budget stopped leaves a handoff for what was under way. */
export async function handOffStopped(held: HeldRun): Promise<void> {
  const { state } = held.run;
  const { stopping } = state;
  const category = stopping === undefined ? undefined : STOPPED_BY[stopping.cause];
  if (category === undefined) return;
  for (const [id, phase] of state.phases) {
    if (!isAttempted(phase)) continue;
    const message = `Phase ${id} was stopped by ${stopping?.by}.`;
    await write(held, id, { category, message, recommendation: "ask" }, phase.attempt);
  }
}

async function write(
  held: HeldRun,
  phase: string,
  failure: PhaseFailure,
  attempted: Attempt,
  setsAside = false,
): Promise<void> {
  const { run, top } = held;
  const { plan } = run.state;
  const { commits } = attempted;
  const { tasksDone, sessions } = attempted.progress;
  const { git, top: place } = checkoutOf(held, phase);
  const { tasks, title } = phaseOf(run.state, phase);
  const files = await changedByPhase(git, attempted.origin.baseline, plan);
  const front: Front = {
    plan: plan.file,
    phase,
    run: run.state.run,
    failure_category: failure.category,
    recommendation: failure.recommendation,
    tasks_completed: [...tasksDone],
    tasks_remaining: tasks.map((task) => task.id).filter((id) => !tasksDone.includes(id)),
    files_modified: (files ?? []).map((file) => file.path),
    ...(setsAside ? { aside: asideRef(run.state.run, phase, attempted.number) } : {}),
  };
  const partial = await checkpointFor(held, phase, sessions.at(-1) ?? "", attempted);
  const { handoff_dir: dir } = run.state.config;
  const folder = folderFor(plan, phase, dir);
  const taken = readHandoffs(top, plan, dir).get(phase)?.file;
  const free = existsSync(join(top, folder, "HANDOFF.md"))
    ? `HANDOFF-${phase.replaceAll(/[^\w.-]/g, "-")}.md`
    : "HANDOFF.md";
  const file = taken ?? join(folder, free);
  const text = `---
${stringify(front).trim()}
---

# Handoff: phase ${phase}, ${title}

${failure.message}

## Partial state

${partial}

## How to go on

- \`segno resume ${run.state.run}\` tries the phase again from here; \`segno run ${plan.file}\` does the same.
- ${ADVICE[failure.category] ?? "Look at what is left, then go on."}
- The phase's changes are in ${setsAside ? `${front.aside} (git show ${front.aside}; going on brings them back)` : place === top ? "the working tree" : place}${commits.made.length > 0 ? ` and in ${commits.made.length} commits` : ""}.
`;
  mkdirSync(join(top, dirname(file)), { recursive: true });
  writeWhole(join(top, file), text);
  if (dir !== undefined && run.state.config.auto_commit)
    await commitAlone(
      held.git,
      run.state.branch,
      file,
      `Handoff of phase ${phase}: ${failure.category}\n\nSegno-Run: ${run.state.run}`,
    );
  await run.record({ type: "handoff-written", phase, file });
}

const ADVICE: Partial<Record<FailureCategory, string>> = {
  context_exhaustion: "Review the phase, or split it in the plan: it did not get on within its sessions.",
  stuck: "Split the phase in the plan, or say in its text how to get past the point where it went round in circles.",
  budget: "Raise the budget (max_cost_usd, max_tokens, max_hours), or run fewer phases.",
  usage_limit: "Wait until the limit is lifted.",
};

export async function removeHandoff({ run, top, git }: HeldRun, phase: string): Promise<void> {
  const { plan, config, branch } = run.state;
  const handoff = readHandoffs(top, plan, config.handoff_dir).get(phase);
  if (handoff === undefined) return;
  rmSync(join(top, handoff.file), { force: true });
  if (config.handoff_dir !== undefined && config.auto_commit)
    await commitAlone(
      git,
      branch,
      handoff.file,
      `Phase ${phase} goes on: its handoff is not needed any more\n\nSegno-Run: ${run.state.run}`,
    );
}
