/** What the commits of earlier runs say, for when `.segno/` is gone. */
import { createHash } from "node:crypto";
import type { Git } from "./git.js";

export const TRAILERS = {
  run: "Segno-Run",
  command: "Segno-Command",
  plan: "Segno-Plan",
  phase: "Segno-Phase",
  tasks: "Segno-Tasks",
  status: "Segno-Status",
} as const;

/** One commit's hash and the values of these trailers, NUL between them. */
export const trailerFormat = (...keys: string[]): string =>
  `%H${keys.map((key) => `%x00%(trailers:key=${key},valueonly,separator=%x2C)`).join("")}`;

export const PARTIAL = "partial";
export const UNDONE = "undone";
interface NamedTask {
  id: string;
  title: string;
}

interface NamedPhase {
  id: string;
  tasks: readonly NamedTask[];
}

/** A task by its id and its title: after an edit of the plan the same id may be another task. */
const tokenOf = ({ id, title }: NamedTask): string =>
  `${id}~${createHash("sha256").update(title).digest("hex").slice(0, 8)}`;

export const taskTrailer = (tasks: readonly NamedTask[], done: readonly string[]): string =>
  tasks
    .filter((task) => done.includes(task.id))
    .map(tokenOf)
    .join(" ");

const stillThere = (tasks: readonly NamedTask[], tokens: readonly string[]): string[] =>
  tasks.filter((task) => tokens.includes(tokenOf(task))).map((task) => task.id);

const LOOK_BACK = 500;

/**
 * Tasks that partial commits of unfinished phases name as done. A phase whose newest commit finished it has none: that
 * it is open again is the user's word.
 */
export async function tasksInGit(
  git: Git,
  plan: string,
  open: readonly NamedPhase[],
): Promise<Record<string, string[]>> {
  const format = trailerFormat(TRAILERS.plan, TRAILERS.phase, TRAILERS.tasks, TRAILERS.status);
  const log = await git.attempt(["log", `--max-count=${LOOK_BACK}`, `--format=${format}`]);
  const tasks: Record<string, string[]> = {};
  const closed = new Set<string>();
  for (const line of log.stdout.split("\n")) {
    const [, ofPlan, phase, named, status] = line.split("\0");
    if (ofPlan !== plan || phase === undefined) continue;
    // What was undone names all of its phases.
    for (const planned of open.filter(({ id }) => phase.split(",").includes(id) && !closed.has(id))) {
      if (status !== PARTIAL) closed.add(planned.id);
      else if (named !== undefined && named !== "") tasks[planned.id] ??= stillThere(planned.tasks, named.split(" "));
    }
  }
  return tasks;
}
