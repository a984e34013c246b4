/** Segno's marks in the user's plan. */
import { filesAt } from "../git/trees.js";
import type { Plan, PlanMark } from "../plan/model.js";
import { markPlanFile } from "../plan/write-back.js";
import { partsIn } from "../plan/write-parts.js";
import type { RunState } from "../run/state.js";
import type { HeldRun } from "./held-run.js";

export interface Marks {
  status: PlanMark | undefined;
  tasksDone: readonly string[];
}

/**
 * Marks the plan in the working tree, and makes the committed version from what `commit` holds: an edit the agent or
 * the user made in the file stays where it is, uncommitted. What is said of a sub-phase stands under its phase.
 */
export async function markPlan(
  held: HeldRun,
  phase: string,
  marks: Marks,
  commit: string,
): Promise<Map<string, string>> {
  const { run, git } = held;
  const { plan } = run.state;
  const root = rootOf(run.state, phase);
  const said = {
    phase: root,
    status: root === phase ? marks.status : undefined,
    tasksDone: marks.tasksDone,
    completesFile: completesFile(run.state, root),
  };
  const parts = partsOf(run.state, root, phase, marks.status);
  const write = (file: string, content: string): string =>
    partsIn(plan, file, markPlanFile(plan, file, content, said), root, parts);
  const marked = new Map<string, string>();
  const files = filesToMark(plan, root);
  const committed = await filesAt(git, commit, files);
  for (const file of files) {
    const current = held.readPlanFile(file);
    if (typeof current === "string") {
      const next = write(file, current);
      if (next !== current) held.writePlanFile(file, next);
    }
    const before = committed.get(file);
    if (before !== undefined) marked.set(file, write(file, before));
  }
  return marked;
}

/** Of a phase whose file holds others, too: whether it is the last of them. */
function completesFile({ plan, phases, parents }: RunState, id: string): boolean | undefined {
  // Elsewhere every phase has a status of its own.
  if (plan.format !== "master") return undefined;
  const file = plan.phases.find((phase) => phase.id === id)?.file;
  return plan.phases
    .filter((phase) => phase.file === file && phase.id !== id && !parents.has(phase.id))
    .every((phase) => ["done", "skipped"].includes(phases.get(phase.id)?.step ?? ""));
}

/** The phase of the plan that a sub-phase, of whatever depth, belongs to. */
export function rootOf({ parents }: RunState, phase: string): string {
  let root = phase;
  for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
  return root;
}

export interface SaidPart {
  id: string;
  title: string;
  tasks: readonly string[];
  status: string;
}

const WORDS: Partial<Record<string, string>> = {
  done: "Done",
  skipped: "Skipped",
  failed: "Failed",
  waiting: "Pending",
};

/** What is said of all sub-phases of a phase; of `ending` what it is about to be. */
function partsOf(state: RunState, root: string, ending: string, status: PlanMark | undefined): SaidPart[] {
  const { plan, parents, phases } = state;
  return plan.phases
    .filter(({ id }) => id !== root && parents.has(id) && rootOf(state, id) === root)
    .map(({ id, title, tasks }) => {
      const step = id === ending && status !== undefined ? status : (phases.get(id)?.step ?? "waiting");
      return { id, title, tasks: tasks.map((task) => task.id), status: WORDS[step] ?? "In progress" };
    });
}

const filesToMark = (plan: Plan, phase: string): string[] => [
  ...new Set([plan.file, plan.phases.find((candidate) => candidate.id === phase)?.file ?? plan.file]),
];
