/** One cell of the crash matrix: a run ended after event k, then resumed to its end. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { readJournal } from "../../src/store/file.js";
import { planFiles } from "./plans.js";
import { git, scratchFolder, scratchRepo } from "./scratch.js";
import { type Ended, eventsOf, site } from "./segno.js";

const PLAN = planFiles([
  { id: "1", tasks: 2, gates: ["test -f repaired.txt"] },
  { id: "2", tasks: 4, dependsOn: ["1"], gates: ['test "$(ls out | wc -l)" -eq 6'] },
]);
const TASKS = ["1/1.1", "1/1.2", "2/2.1", "2/2.2", "2/2.3", "2/2.4"];
const ARGS = ["--json", "--context-limit", "36000"];

export interface Undisturbed {
  events: number;
  tree: string;
  types: string[];
}

const treeOf = (repo: string): string => git(repo, "ls-tree", "-r", "HEAD");

export async function undisturbed(): Promise<Undisturbed> {
  const place = await site({ repo: scratchRepo(PLAN), charsPerTask: 9_000 });
  const ended = await place.segno(["run", "PLAN.md", ...ARGS]).ended;
  expect(ended.code, ended.stderr).toBe(0);
  const events = eventsOf(ended);
  const types = events.map((event) => event.type);
  // The run has all that the matrix is about.
  expect(types.filter((type) => type === "checkpoint-saved").length).toBeGreaterThan(0);
  expect(events.some((event) => event.type === "gate-finished" && !event.passed)).toBe(true);
  expect(place.done).toEqual(TASKS);
  return { events: events.length, tree: treeOf(place.repo), types };
}

export interface Cell {
  /** Tasks that were done more than once. */
  redone: string[];
  first: Ended;
  resumed: Ended;
}

export async function crashAt(k: number, signal: NodeJS.Signals, truth: Undisturbed): Promise<Cell> {
  const place = await site({ repo: scratchRepo(PLAN), charsPerTask: 9_000 });
  const first = await place.segno(["run", "PLAN.md", ...ARGS], { killAt: k, signal }).ended;
  const aliveFile = join(scratchFolder(), "alive");
  if (signal === "SIGKILL") expect(first.signal).toBe("SIGKILL");
  if (first.code === 0) {
    // The signal came when nothing was left to stop.
    expect(treeOf(place.repo)).toBe(truth.tree);
    return { redone: [], first, resumed: first };
  }
  if (signal !== "SIGKILL") expect(first.code, first.stdout.slice(-2_000) + first.stderr).toBe(3);
  const resumed = await place.segno(["resume", ...ARGS], { aliveFile }).ended;
  if (resumed.code === 2 && resumed.stdout.includes("nothing-to-resume")) {
    expect(k).toBe(truth.events);
    return { redone: [], first, resumed };
  }
  expect(resumed.code, resumed.stdout.slice(-3_000) + resumed.stderr).toBe(0);
  expect(treeOf(place.repo)).toBe(truth.tree);
  expect(git(place.repo, "status", "--porcelain")).toBe("");
  for (const task of TASKS) expect(place.done).toContain(task);
  const redone = TASKS.filter((task) => place.done.filter((other) => other === task).length > 1);
  expect(place.done.length - TASKS.length).toBeLessThanOrEqual(signal === "SIGKILL" ? 1 : 0);
  const [id = ""] = readdirSync(join(place.repo, ".segno/runs"));
  const alive = existsSync(aliveFile)
    ? (JSON.parse(readFileSync(aliveFile, "utf8").split("\n")[0] ?? "[]") as string[])
    : [];
  expect(alive.filter((marker) => marker.startsWith(`${id}:`))).toEqual([]);
  const read = readJournal(join(place.repo, ".segno/runs", id));
  expect(read.ok && read.events.at(-1)?.type).toBe("run-completed");
  await sleep(50);
  expect(await findProcesses((marker) => marker.startsWith(`${id}:`))).toEqual([]);
  return { redone, first, resumed };
}
