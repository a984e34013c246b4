/** A worker of a team in this process: a real PostgreSQL, a bare remote, the agent in process. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Agent } from "../../src/agents/agent.js";
import { type Config, configSchema } from "../../src/config/schema.js";
import type { Equipment } from "../../src/engine/held-run.js";
import { LiveRun } from "../../src/engine/live-run.js";
import { preparePlan } from "../../src/engine/start.js";
import { askRun, type SteerName } from "../../src/engine/steering.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { worker } from "../../src/rehearsal/worker.js";
import type { RunEvent } from "../../src/run/event.js";
import { LONGEST_LEASE_MS } from "../../src/team/lease.js";
import type { Machine } from "../../src/team/machine.js";
import { openTeam } from "../../src/team/open.js";
import { resumeTeamRun, startTeamRun } from "../../src/team/start.js";
import { workForTeam } from "../../src/team/worker.js";
import { type CutLine, cutLine } from "./cut-line.js";
import { eventually } from "./eventually.js";
import { inProcessAgent } from "./in-process-agent.js";
import { type PlannedPhase, planFiles } from "./plans.js";
import { teamDatabase } from "./postgres.js";
import { scratchFolder, scratchRepo, whenOver } from "./scratch.js";

export interface TeamOfOne {
  /** The user's clone, and the bare repository. */
  repo: string;
  remote: string;
  run: string;
  machine: Machine;
  /** To its database. */
  line: CutLine;
  /** `phase/task`, as they were done. */
  done: string[];
  said: string[];
  events: RunEvent[];
  /** Works until the run is over, and then ends. */
  workUntilOver(): Promise<void>;
  /** Works until this is so of the journal, and then ends. */
  workUntil(what: string, isSo: (events: RunEvent[]) => boolean | Promise<boolean>): Promise<RunEvent[]>;
  read(): Promise<RunEvent[]>;
  ask(act: SteerName, body?: Record<string, unknown>): Promise<void>;
  resume(): Promise<void>;
}

interface Options extends Partial<Machine> {
  behave?: (each: Behaviour) => Behaviour;
  settings?: Partial<Config>;
  attended?: boolean;
  /** Beside the first. */
  others?: Agent[];
}

export async function teamOfOne(
  phases: readonly PlannedPhase[],
  {
    behave = (each: Behaviour): Behaviour => each,
    settings = {},
    attended = false,
    others = [],
    ...more
  }: Options = {},
): Promise<TeamOfOne> {
  const config = await teamDatabase();
  const line = await cutLine(config.port as number);
  const team = await openTeam(
    { ...config, port: line.port },
    { repo: "r", worker: "w1", supervises: true, migrates: true },
  );
  whenOver(() => team.close());
  const repo = scratchRepo(planFiles([...phases]));
  const remote = join(scratchFolder(), "remote.git");
  execFileSync("git", ["clone", "--quiet", "--bare", repo, remote]);
  const done: string[] = [];
  const home = scratchFolder();
  const behaviour = worker({
    charsPerTask: 0,
    onTask: ({ phase, task }) => void done.push(`${phase}/${task}`),
    onRefused: () => {},
  });
  const agent = inProcessAgent({ window: 200_000, behaviour: behave(behaviour), onExchange: () => {} });
  const env = rehearsalEnv({ folder: home, repository: repo, home }, "http://127.0.0.1:9");
  const equipment: Equipment = {
    agent,
    others,
    agentEnv: env,
    gateEnv: env,
    isolated: true,
    permissions: "all",
    worktrees: join(home, "worktrees"),
    onEvent: () => {},
  };
  const prepared = await preparePlan(repo, "PLAN.md", {});
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.failure));
  const redact = (text: string): string => text;
  const configured = configSchema.parse({ model: "claude-sonnet-4-5", permission_mode: "all", ...settings });
  const started = await startTeamRun(
    { url: remote, store: team.store, queues: team.queues, redact },
    prepared.value,
    { cwd: repo, config: configured, mode: "rehearsal", gates: "block", allowDirty: false, attended },
    equipment,
  );
  if (!started.ok) throw new Error(JSON.stringify(started.failure));
  const run = started.value;
  const said: string[] = [];
  const machine: Machine = {
    offer: { version: "0", host: "here", instance: "i", slots: 2, agents: { claude: "default" }, labels: [] },
    longestLeaseMs: LONGEST_LEASE_MS,
    ...{ worker: "w1", url: remote, folder: join(home, "team"), redact },
    ...{ store: team.store, database: team.database, queues: team.queues },
    equipment: async () => equipment,
    say: (text: string) => void said.push(text),
    ...more,
  };
  const events: RunEvent[] = [];
  const workUntilOver = async (): Promise<void> => {
    const ends = new AbortController();
    const working = workForTeam(machine, ends.signal);
    await new Promise<void>((resolve) => {
      void team.store.watch(run, (seen) => {
        events.push(...seen);
        if (seen.some(({ type }) => /^run-(completed|failed|stopped)$/.test(type))) resolve();
      });
    });
    ends.abort();
    await working;
  };
  const read = async (): Promise<RunEvent[]> => [...(await team.store.read(run)).events];
  const workUntil = async (what: string, isSo: (events: RunEvent[]) => boolean | Promise<boolean>) => {
    const ends = new AbortController();
    const working = workForTeam(machine, ends.signal);
    await eventually(what, async () => isSo(await read())).catch(async (error: Error) => {
      const told = (await read()).slice(-40).map((event) => JSON.stringify(event).slice(0, 250));
      throw new Error([error.message, ...said, ...told].join("\n"));
    });
    ends.abort();
    await working;
    return read();
  };
  const ask = async (act: SteerName, body = {}): Promise<void> => {
    const said = await askRun(team.store, run, act, body);
    if (!said.ok) throw new Error(said.message);
  };
  const resume = async (): Promise<void> => {
    const joined = await team.store.steer(run, redact);
    if (joined === undefined) throw new Error("the run is gone");
    const live = new LiveRun(joined.journal, joined.events);
    await resumeTeamRun(live, live.state.config, false, undefined);
    await live.close();
    await team.queues.ensureRun({ run });
  };
  return { repo, remote, run, machine, line, done, said, events, workUntilOver, workUntil, read, ask, resume };
}
