/** One cell of the crash matrix: a run ended after event k, then resumed to its end. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { kindsIn, readConversation } from "../../src/rehearsal/conversation.js";
import { call, message } from "../../src/rehearsal/reply.js";
import type { FactType, RunEvent } from "../../src/run/event.js";
import { FileStore } from "../../src/store/file.js";
import { TOOL_PREFIX } from "../support/tool-prefix.js";
import { eventually } from "./eventually.js";
import { planFiles } from "./plans.js";
import { type Files, git, scratchFolder, scratchRepo } from "./scratch.js";
import { type Ended, eventsOf, type Site, type SiteOptions, site } from "./segno.js";

export interface Scenario {
  name: string;
  plan: Files;
  tasks: string[];
  args: string[];
  charsPerTask: number;
  behave?: SiteOptions["behave"];
  /** What the run must have in it for the matrix to be about something. */
  has: (event: RunEvent) => boolean;
  types: FactType[];
  /** Tasks that may be in flight at once: as many may be done twice after a kill. */
  atOnce: number;
}

/** Two phases, a handover, a failing gate and its repair. */
export const ONE_AFTER_ANOTHER: Scenario = {
  name: "one after another, with a handover and a repair",
  plan: planFiles([
    { id: "1", tasks: 2, gates: ["test -f repaired.txt"] },
    { id: "2", tasks: 4, dependsOn: ["1"], gates: ['test "$(ls out | wc -l)" -eq 6'] },
  ]),
  tasks: ["1/1.1", "1/1.2", "2/2.1", "2/2.2", "2/2.3", "2/2.4"],
  args: ["--json", "--context-limit", "36000"],
  charsPerTask: 9_000,
  has: (event) => event.type === "gate-finished" && !event.passed,
  types: ["checkpoint-saved"],
  atOnce: 1,
};

const result = (fields: Record<string, unknown>) =>
  message(
    call(`${TOOL_PREFIX}phase_result`, {
      status: "completed",
      summary: "s",
      tasks_completed: [],
      tasks_remaining: [],
      files_modified: [],
      decisions: [],
      ...fields,
    }),
  );

const APART = "test ! -f out/1-1.txt || test ! -f out/2-4.txt || test -f repaired.txt";

const isWork = (prompt: string): boolean => kindsIn(prompt).some((kind) => kind === "work" || kind === "continue");

/** Two phases at once that fit alone and not together; one of them is split. */
export const AT_ONCE: Scenario = {
  name: "at once, with a split, a merge and its repair",
  plan: planFiles([
    { id: "1", tasks: 2, gates: [APART] },
    { id: "2", tasks: 4, gates: [APART] },
  ]),
  tasks: ["1/1.1", "1/1.2", "2a/2.1", "2a/2.2", "2b/2.3", "2b/2.4"],
  args: ["--json", "--parallel", "2"],
  charsPerTask: 0,
  behave: (request, worker) => {
    const { phase, tools, prompt, turns } = readConversation(request);
    if (!tools.has("Bash")) return worker(request);
    const calls = turns.flatMap((turn) => turn.calls);
    if (kindsIn(prompt).includes("merge"))
      return calls.some((made) => made.name === "Write")
        ? result({})
        : message(call("Write", { file_path: "repaired.txt", content: "repaired\n" }));
    if (phase !== "2" || !isWork(prompt)) return worker(request);
    const parts = [
      { title: "First half", tasks: ["2.1", "2.2"] },
      { title: "Second half", tasks: ["2.3", "2.4"] },
    ];
    return result({ status: "split_request", split_details: { reason: "large", recommended_sub_phases: parts } });
  },
  has: (event) => event.type === "gate-finished" && event.command.includes("/m1/") && !event.passed,
  types: ["phase-split", "merge-begun", "phase-merged"],
  atOnce: 3,
};

export interface Undisturbed {
  events: number;
  tree: string;
  types: string[];
}

const treeOf = (repo: string): string => git(repo, "ls-tree", "-r", "HEAD");

/** What is not as in the undisturbed run, with its content. */
const differing = (repo: string, truth: string): string[] =>
  treeOf(repo)
    .split("\n")
    .filter((line) => !truth.split("\n").includes(line))
    .map((line) => `${line}\n${git(repo, "show", `HEAD:${line.split("\t")[1]}`)}`)
    .concat(truth.split("\n").filter((line) => !treeOf(repo).split("\n").includes(line)));

const siteOf = ({ plan, charsPerTask, behave }: Scenario): Promise<Site> =>
  site({ agent: "claude", repo: scratchRepo(plan), charsPerTask, ...(behave === undefined ? {} : { behave }) });

export async function undisturbed(scenario: Scenario): Promise<Undisturbed> {
  const place = await siteOf(scenario);
  const ended = await place.segno(["run", "PLAN.md", ...scenario.args]).ended;
  expect(ended.code, ended.stdout.slice(-2_000) + ended.stderr).toBe(0);
  const events = eventsOf(ended);
  const types = events.map((event) => event.type);
  for (const type of scenario.types) expect(types).toContain(type);
  expect(events.some(scenario.has)).toBe(true);
  expect(place.done.toSorted()).toEqual(scenario.tasks.toSorted());
  return { events: events.length, tree: treeOf(place.repo), types };
}

/** Nobody resumes by hand: what was killed goes on by itself. `CRASH_REVIVED=0` resumes by hand. */
const REVIVED = process.env.CRASH_REVIVED !== "0";

async function revived(repo: string): Promise<Ended> {
  const store = new FileStore(repo);
  const over = async (): Promise<boolean> => {
    const [run = ""] = await store.list();
    const read = await store.read(run);
    // One that was killed before its first event, or after its last, has nothing to go on with.
    if (!read.ok || read.events.length === 0) return (await store.holder(run)) === undefined;
    const last = read.events.findLast(({ type }) => /^run-(completed|failed|stopped)$/.test(type));
    return last !== undefined && (await store.holder(run)) === undefined;
  };
  await eventually("the run went on by itself, to its end", over, 150);
  const [run = ""] = await store.list();
  const { events } = await store.read(run);
  const stdout = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const last = events.at(-1)?.type;
  return { code: last === "run-completed" ? 0 : 1, signal: null, stdout, stderr: "" };
}

export interface Cell {
  /** Tasks that were done more than once. */
  redone: string[];
  first: Ended;
  resumed: Ended;
}

export async function crashAt(
  scenario: Scenario,
  k: number,
  signal: NodeJS.Signals,
  truth: Undisturbed,
): Promise<Cell> {
  const { tasks, args, atOnce } = scenario;
  const place = await siteOf(scenario);
  const byItself = signal === "SIGKILL" && REVIVED;
  const env = byItself ? { SEGNO_REVIVE: "true" } : {};
  const first = await place.segno(["run", "PLAN.md", ...args], { killAt: k, signal, env }).ended;
  const aliveFile = join(scratchFolder(), "alive");
  if (first.code === 0) {
    // The signal came when nothing was left to stop, or in another order there were fewer events.
    if (signal === "SIGKILL") expect(atOnce).toBeGreaterThan(1);
    expect(treeOf(place.repo)).toBe(truth.tree);
    return { redone: [], first, resumed: first };
  }
  if (signal === "SIGKILL") expect(first.signal, first.stdout.slice(-20_000) + first.stderr).toBe("SIGKILL");
  if (signal !== "SIGKILL") expect(first.code, first.stdout.slice(-2_000) + first.stderr).toBe(3);
  const resumed = byItself
    ? await revived(place.repo)
    : await place.segno(["resume", ...args.filter((arg) => !/parallel|^2$/.test(arg))], { aliveFile }).ended;
  if (resumed.code === 2 && resumed.stdout.includes("nothing-to-resume")) {
    expect(k).toBeGreaterThan(truth.events - 10);
    return { redone: [], first, resumed };
  }
  expect(
    resumed.code,
    `${first.stdout.slice(-20_000)}\n---- resumed\n${resumed.stdout.slice(-40_000)}${resumed.stderr}`,
  ).toBe(0);
  const other = differing(place.repo, truth.tree);
  if (other.length > 0) throw new Error(`it ended with another tree:\n${other.join("\n")}`);
  expect(git(place.repo, "status", "--porcelain")).toBe("");
  expect(git(place.repo, "branch", "--list", "segno/*")).toBe("");
  expect(git(place.repo, "worktree", "list").split("\n")).toHaveLength(1);
  for (const task of tasks) expect(place.done).toContain(task);
  const redone = tasks.filter((task) => place.done.filter((other) => other === task).length > 1);
  expect(place.done.length - tasks.length).toBeLessThanOrEqual(signal === "SIGKILL" ? atOnce : 0);
  const [id = ""] = readdirSync(join(place.repo, ".git/segno/runs"));
  const alive = existsSync(aliveFile)
    ? (JSON.parse(readFileSync(aliveFile, "utf8").split("\n")[0] ?? "[]") as string[])
    : [];
  expect(alive.filter((marker) => marker.startsWith(`${id}:`))).toEqual([]);
  const read = await new FileStore(place.repo).read(id);
  expect(read.ok && read.events.at(-1)?.type).toBe("run-completed");
  await sleep(50);
  expect(await findProcesses((marker) => marker.startsWith(`${id}:`))).toEqual([]);
  return { redone, first, resumed };
}
