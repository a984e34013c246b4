/** The plan as it is in the checkout now: what the user wrote, never what an agent did to it. */
import { createHash } from "node:crypto";
import { filesAt } from "../git/trees.js";
import type { Plan, ReadPlanFile } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";
import { markPlanFile } from "../plan/write-back.js";
import { lastAttempt, type PhaseState } from "../run/phase.js";
import type { RunState } from "../run/state.js";
import type { HeldRun } from "./held-run.js";
import { planOptions } from "./plan-options.js";

export const contentHash = (content: string): string => createHash("sha256").update(content).digest("hex");

/** A phase but for its marks and its places. */
const shapeOf = ({ id, title, dependsOn, tasks, gates }: Plan["phases"][number]): string =>
  JSON.stringify([
    id,
    title,
    dependsOn,
    tasks.map((task) => [task.id, task.title]),
    gates.map((gate) => [gate.id, gate.check]),
  ]);

/** Whether a plan is still what a run was started with, but for marks. */
export const samePlan = (a: Plan, b: Plan): boolean =>
  JSON.stringify(a.phases.map(shapeOf)) === JSON.stringify(b.phases.map(shapeOf));

/** Takes up what the user changed since the run froze its plan; a contradiction is said and changes nothing. */
export async function takeUpPlanChanges(held: HeldRun, revised: readonly string[] = []): Promise<void> {
  const { run, git, readPlanFile } = held;
  const { plan, config, format } = run.state;
  const committed = await filesAt(git, "HEAD", plan.files);
  const read: ReadPlanFile = (path) => {
    const now = readPlanFile(path);
    return typeof now === "string" && run.agentsPlans.has(contentHash(now)) ? (committed.get(path) ?? now) : now;
  };
  if (readPlanFile.list !== undefined) read.list = readPlanFile.list;
  const parsed = parsePlan(plan.file, read, planOptions(config, format));
  if (!parsed.ok) {
    const [first] = parsed.diagnostics.filter((diagnostic) => diagnostic.severity === "error");
    const message = `The plan was changed and cannot be read now, so the run goes on with what it was: ${first?.file}:${first?.line}: ${first?.message}`;
    run.warn(message);
    return;
  }
  const own = { ...plan, phases: plan.phases.filter((phase) => !run.state.parents.has(phase.id)) };
  if (samePlan(parsed.plan, own) && revised.length === 0) return;
  const { merged, added, removed, changed, contradictions } = mergePlans(run.state, parsed.plan, revised);
  for (const message of contradictions) run.warn(message);
  if (samePlan(merged, plan) && revised.length === 0) return;
  await run.record(
    { type: "plan-changed", plan: merged, added, removed, changed: [...new Set([...changed, ...revised])] },
    ...revised.map((phase) => ({ type: "phase-revised" as const, phase })),
  );
}

/** Whether somebody changed the phase's file since the run last wrote into it: its own marks do not count. */
export async function isRevised({ run, git, readPlanFile }: HeldRun, phase: string): Promise<boolean> {
  const { plan, head, phases } = run.state;
  const file = plan.phases.find(({ id }) => id === phase)?.file ?? plan.file;
  const now = readPlanFile(file);
  const committed = await git.attempt(["cat-file", "blob", `${head}:${file}`]);
  if (typeof now !== "string" || !committed.ok || run.agentsPlans.has(contentHash(now))) return false;
  const tasksDone = lastAttempt(phases.get(phase))?.progress.tasksDone ?? [];
  // Other phases of the same file may be marked, too.
  let marked = committed.stdout;
  for (const [id, state] of phases) {
    if (state.step === "failed" && id !== phase)
      marked = markPlanFile(plan, file, marked, {
        phase: id,
        status: "failed",
        tasksDone: lastAttempt(state)?.progress.tasksDone ?? [],
      });
  }
  const ours = [committed.stdout, marked, markPlanFile(plan, file, marked, { phase, status: "failed", tasksDone })];
  return !ours.includes(now);
}

const mayChange = (phase: PhaseState | undefined): boolean =>
  phase === undefined || phase.step === "waiting" || phase.step === "starting";

function mergePlans(state: RunState, fresh: Plan, revised: readonly string[]) {
  const old = new Map(state.plan.phases.map((phase) => [phase.id, phase]));
  const contradictions: string[] = [];
  const phases = fresh.phases.map((phase) => {
    const before = old.get(phase.id);
    if (before === undefined || revised.includes(phase.id) || mayChange(state.phases.get(phase.id))) return phase;
    if (shapeOf(before) !== shapeOf(phase))
      contradictions.push(contradiction(phase.id, "was changed in the plan", state));
    return before;
  });
  const ids = new Set(fresh.phases.map((phase) => phase.id));
  // Sub-phases are the run's own: they come and go with their phase.
  const parts = state.plan.phases.filter((phase) => state.parents.has(phase.id));
  const gone = state.plan.phases.filter((phase) => !ids.has(phase.id) && !state.parents.has(phase.id));
  const kept = gone.filter((phase) => !mayChange(state.phases.get(phase.id)));
  for (const phase of kept) contradictions.push(contradiction(phase.id, "was removed from the plan", state));
  const whole = phases.flatMap((phase) => [phase, ...partsBelow(state, parts, phase.id)]);
  const merged: Plan = { ...fresh, phases: [...kept, ...whole] };
  return {
    merged,
    added: merged.phases.filter((phase) => !old.has(phase.id)).map((phase) => phase.id),
    removed: gone.filter((phase) => !kept.includes(phase)).map((phase) => phase.id),
    changed: merged.phases
      .filter((phase) => old.has(phase.id) && shapeOf(old.get(phase.id) ?? phase) !== shapeOf(phase))
      .map((phase) => phase.id),
    contradictions,
  };
}

const partsBelow = (state: RunState, parts: Plan["phases"], id: string): Plan["phases"] =>
  parts
    .filter((part) => state.parents.get(part.id) === id)
    .flatMap((part) => [part, ...partsBelow(state, parts, part.id)]);

const contradiction = (id: string, what: string, state: RunState): string =>
  `Phase ${id} ${what}, but it is ${state.phases.get(id)?.step === "done" ? "done" : "under way"} already: this run keeps it as it was. Run the plan again for it.`;
