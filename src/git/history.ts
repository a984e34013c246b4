/** What the commits of earlier runs say, for when `.segno/` is gone. */
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
const LOOK_BACK = 500;

/**
 * Tasks that partial commits of unfinished phases name as done. A phase whose newest commit finished it has none: that
 * it is open again is the user's word.
 */
export async function tasksInGit(git: Git, plan: string, open: readonly string[]): Promise<Record<string, string[]>> {
  const format = trailerFormat(TRAILERS.plan, TRAILERS.phase, TRAILERS.tasks, TRAILERS.status);
  const log = await git.attempt(["log", `--max-count=${LOOK_BACK}`, `--format=${format}`]);
  const tasks: Record<string, string[]> = {};
  const closed = new Set<string>();
  for (const line of log.stdout.split("\n")) {
    const [, ofPlan, phase, named, status] = line.split("\0");
    if (ofPlan !== plan || phase === undefined || !open.includes(phase) || closed.has(phase)) continue;
    if (status !== PARTIAL) closed.add(phase);
    else if (named !== undefined && named !== "") tasks[phase] ??= named.split(" ");
  }
  return tasks;
}
