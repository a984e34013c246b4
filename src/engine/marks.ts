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
  /** Phases that will be done before this one. */
  doneBefore?: readonly string[];
}

/**
 * Marks the plan in the working tree, and makes the committed version from what `commit` holds: an edit the agent or
 * the user made in the file stays where it is, uncommitted.
 */
export async function markPlan(
  held: HeldRun,
  phase: string,
  marks: Marks,
  commit: string,
): Promise<Map<string, string>> {
  const { files, write } = marking(held.run.state, phase, marks);
  for (const file of files) {
    const current = held.readPlanFile(file);
    if (typeof current !== "string") continue;
    const next = write(file, current);
    if (next !== current) held.writePlanFile(file, next);
  }
  return markedPlan(held, phase, marks, commit);
}

/** The plan's files as `commit` has them, with these marks; the working tree stays as it is. */
export async function markedPlan(
  { run, git }: HeldRun,
  phase: string,
  marks: Marks,
  commit: string,
): Promise<Map<string, string>> {
  const { files, write } = marking(run.state, phase, marks);
  const committed = await filesAt(git, commit, files);
  return new Map([...committed].map(([file, content]) => [file, write(file, content)]));
}

/** Which files are marked, and how. What is said of a sub-phase stands under its phase. */
function marking(
  state: RunState,
  phase: string,
  marks: Marks,
): { files: string[]; write: (file: string, content: string) => string } {
  const { plan } = state;
  const root = rootOf(state, phase);
  const said = {
    phase: root,
    status: root === phase ? marks.status : undefined,
    tasksDone: marks.tasksDone,
    completesFile: completesFile(state, root, marks.doneBefore ?? []),
  };
  const parts = partsOf(state, root, phase, marks.status);
  return {
    files: filesToMark(plan, root),
    write: (file, content) => partsIn(plan, file, markPlanFile(plan, file, content, said), root, parts),
  };
}

/** Of a phase whose file holds others, too: whether it is the last of them. */
function completesFile(
  { plan, phases, parents }: RunState,
  id: string,
  doneBefore: readonly string[],
): boolean | undefined {
  // Elsewhere every phase has a status of its own.
  if (plan.format !== "master") return undefined;
  const file = plan.phases.find((phase) => phase.id === id)?.file;
  return plan.phases
    .filter((phase) => phase.file === file && phase.id !== id && !parents.has(phase.id))
    .every(
      ({ id: other }) => doneBefore.includes(other) || ["done", "skipped"].includes(phases.get(other)?.step ?? ""),
    );
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
  unverified: "Done",
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
