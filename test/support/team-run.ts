/** A run of a team with the real Claude Code, faults in the middle of it, and what must hold at its end. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import type { PlannedPhase } from "./plans.js";
import { PASSWORD } from "./postgres.js";
import { git } from "./scratch.js";
import type { Running } from "./segno.js";
import { overlaps, type TeamMachine, type TeamSite, teamSite } from "./team.js";

export interface Member {
  machine: TeamMachine;
  worker: Running;
  /** It was asked to end: twice would be at once. */
  wasAsked?: true;
}

export interface TeamRun {
  team: TeamSite;
  members: Map<string, Member>;
  run: Running;
  /** By name, with what it is. */
  member(name: string): Member;
  /** Who conducts, and who else holds a phase, as the journal says now. */
  conductor(): Promise<string>;
  holders(): Promise<Map<string, string>>;
  restart(name: string): Promise<void>;
}

export const NAMES = ["a", "b", "c"];

/** Phases that depend on nothing, and one at the end that depends on all of them and sees all their files. */
export function planOf(phases: number, tasks: number): PlannedPhase[] {
  const ids = Array.from({ length: phases }, (_, n) => String(n + 1));
  const independent = ids.map((id) => ({ id, tasks, gates: [`test $(ls out/${id}-* | wc -l) -eq ${tasks}`] }));
  const gate = `test $(ls out | wc -l) -eq ${phases * tasks + 1}`;
  return [...independent, { id: String(phases + 1), dependsOn: ids, tasks: 1, gates: [gate] }];
}

export async function beginTeamRun(
  phases: PlannedPhase[],
  {
    tenths = 8,
    config = "",
    slots = 2,
    agent = "claude" as "claude" | "scripted",
    names = NAMES,
    charsPerTask = 1,
    env = {} as Record<string, Record<string, string>>,
    homes = {} as Record<string, string>,
  } = {},
): Promise<TeamRun> {
  const team = await teamSite({ phases, agent, tenths, charsPerTask, config });
  const hook = join(team.remote, "hooks/update");
  writeFileSync(hook, '#!/bin/sh\necho "$1 $2 $3" >> updates.log\n');
  chmodSync(hook, 0o755);
  const members = new Map<string, Member>();
  const begin = async (name: string, machine: TeamMachine): Promise<void> => {
    const worker = await team.worker(machine, ["--slots", String(slots)], env[name]);
    members.set(name, { machine, worker });
  };
  for (const name of names) {
    const machine = await team.machine(name, homes[name]);
    await begin(name, machine);
  }
  const run = team.segno(["run", "PLAN.md", "--team", "--json"]);
  const member = (name: string): Member => {
    const found = members.get(name);
    if (found === undefined) throw new Error(`there is no worker ${name}`);
    return found;
  };
  return {
    team,
    members,
    run,
    member,
    conductor: async () => {
      const last = (await team.events()).findLast((event) => event.type === "run-taken");
      return last?.type === "run-taken" ? last.worker : "";
    },
    holders: async () => {
      const held = new Map<string, string>();
      for (const event of await team.events()) {
        if (event.type === "phase-taken") held.set(event.phase, event.worker);
        if (event.type === "phase-let-go") held.delete(event.phase);
      }
      return held;
    },
    restart: async (name) => {
      const { machine, worker } = member(name);
      worker.kill("SIGKILL");
      await worker.ended;
      await begin(name, machine);
    },
  };
}

/** Waits for its end, and holds it against everything that must be so, whatever happened. `redone`: tasks that may have been begun again. */
export async function endsWell(
  { team, run, members }: TeamRun,
  phases: readonly PlannedPhase[],
  { redone }: { redone: number },
): Promise<{ redone: number; events: Awaited<ReturnType<TeamSite["events"]>> }> {
  const ended = await run.ended;
  const said = [...members].map(([name, { worker }]) => `--- ${name}\n${worker.said().slice(-3_000)}`).join("\n");
  const events = await team.events();
  const failed = events.filter(({ type }) => /failed|warned|stuck/.test(type)).map((event) => JSON.stringify(event));
  const told = events.slice(-60).map(({ seq, at, type, scope, epoch }) => `${seq} ${at} ${type} ${scope}/${epoch}`);
  // For whoever looks into it: `TEAM_JOURNAL=file` keeps all of it.
  if (ended.code !== 0 && process.env.TEAM_JOURNAL !== undefined)
    writeFileSync(process.env.TEAM_JOURNAL, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  expect(ended.code, `${ended.stderr}\n${said}\n${told.join("\n")}\n${failed.join("\n")}`).toBe(0);
  // Numbers without gaps, times that never go back, and no word under a lease that somebody else had taken.
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1));
  expect(events.every(({ at }, n) => n === 0 || at >= (events[n - 1]?.at ?? ""))).toBe(true);
  const newest = new Map<string, number>();
  for (const { scope, epoch, seq, type } of events) {
    if (type === "stop-requested" || type === "question-answered") continue;
    expect(epoch, `event ${seq} (${type}) of ${scope}`).toBeGreaterThanOrEqual(newest.get(scope) ?? 0);
    newest.set(scope, Math.max(epoch, newest.get(scope) ?? 0));
  }
  const merged = events.flatMap((event) => (event.type === "phase-merged" ? [event] : []));
  expect(merged.map(({ phase }) => phase).toSorted()).toEqual(phases.map(({ id }) => id).toSorted());
  // The branch only ever went forwards, and only to what the journal says was tested.
  const { branch, head } = startOf(events);
  const updates = readFileSync(join(team.remote, "updates.log"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith(`refs/heads/${branch} `))
    .map((line) => line.split(" ") as [string, string, string]);
  const shas = [head, ...merged.map(({ sha }) => sha)];
  expect(updates.map(([, , to]) => to).filter((to, n, all) => to !== all[n - 1])).toEqual(shas);
  const total = phases.reduce((sum, { tasks = 1 }) => sum + (typeof tasks === "number" ? tasks : tasks.length), 0);
  expect(git(team.remote, "ls-tree", "-r", "--name-only", branch, "out").split("\n")).toHaveLength(total);
  expect(git(team.remote, "show", `${branch}:PLAN.md`)).not.toContain("Pending");
  expect(overlaps(team.beats())).toEqual([]);
  expect(new Set(team.done).size).toBe(total);
  expect(team.done.length - total, team.done.join(" ")).toBeLessThanOrEqual(redone);
  expect(JSON.stringify(events)).not.toContain(PASSWORD);
  for (const { worker, wasAsked } of members.values()) if (wasAsked === undefined) worker.kill("SIGTERM");
  for (const { worker } of members.values()) await worker.ended;
  const { run: id } = events[0] as { run: string };
  expect(await findProcesses((marker) => marker.startsWith(`${id}:`))).toEqual([]);
  return { redone: team.done.length - total, events };
}

function startOf(events: Awaited<ReturnType<TeamSite["events"]>>): { branch: string; head: string } {
  const [first] = events;
  if (first?.type !== "run-started") throw new Error("the journal begins with something else");
  return { branch: first.branch, head: first.head };
}
