/** A run in this process, with real git: the real Claude Code against the stand-in model, or the agent in process. */
import { join } from "node:path";
import { expect } from "vitest";
import type { Agent } from "../../src/agents/agent.js";
import { claudeAgent } from "../../src/agents/claude/agent.js";
import { codexAgent } from "../../src/agents/codex/agent.js";
import { opencodeAgent } from "../../src/agents/opencode/agent.js";
import { findProcesses } from "../../src/agents/processes.js";
import { type Config, configSchema } from "../../src/config/schema.js";
import type { Learned } from "../../src/context/forecast.js";
import { conductRun } from "../../src/engine/conduct.js";
import type { Equipment, HeldRun } from "../../src/engine/held-run.js";
import { resumeRun } from "../../src/engine/resume.js";
import { preparePlan, startRun } from "../../src/engine/start.js";
import { type Behaviour, type Exchange, startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { worker } from "../../src/rehearsal/worker.js";
import type { FactOf, FactType, RunEvent } from "../../src/run/event.js";
import { FileStore } from "../../src/store/file.js";
import type { Store } from "../../src/store/store.js";
import { inProcessAgent } from "./in-process-agent.js";
import { scratchFolder, whenOver } from "./scratch.js";
import { CODEX, OPENCODE } from "./segno.js";

type AgentKind = "claude" | "codex" | "opencode" | "in-process";

export interface RehearsalOptions {
  repo: string;
  /** Who does the work; the agent in process, if nothing is said. */
  agent?: AgentKind;
  /** Another agent altogether. */
  with?: Agent;
  /** Names of further agents in process that may work, too. */
  others?: string[];
  config?: Partial<Config>;
  charsPerTask?: number;
  /** Answers instead of the worker where it returns something. */
  behave?: (request: Parameters<Behaviour>[0], worker: Behaviour, agent?: string) => ReturnType<Behaviour>;
  gates?: "block" | "report";
  allowDirty?: boolean;
  window?: number;
  attended?: boolean;
  /** More of an environment for the agent. */
  env?: Record<string, string>;
  /** What earlier phases of this repository taught. */
  learned?: Learned;
  /** Where the run lives: files, if nothing is said. */
  store?: Store;
  /** Called when the run is held and about to be conducted. */
  onHeld?: (held: HeldRun) => void;
  /** Called with each event, as it happens. */
  onEvent?: (event: RunEvent, held: HeldRun | undefined) => void;
}

export interface Rehearsed {
  status: string;
  events: RunEvent[];
  held: HeldRun;
  equipment: Equipment;
  exchanges: Exchange[];
  /** Every task the stand-in did, as `phase/task`, in order. */
  done: string[];
  of<T extends FactType>(type: T): (FactOf<T> & RunEvent)[];
}

export async function rehearse(options: RehearsalOptions): Promise<Rehearsed> {
  const done: string[] = [];
  const exchanges: Exchange[] = [];
  const events: RunEvent[] = [];
  const home = scratchFolder();
  const standard = worker({
    charsPerTask: options.charsPerTask ?? 0,
    onTask: ({ phase, task }) => done.push(`${phase}/${task}`),
    onRefused: ({ phase, task }) => void done.splice(done.lastIndexOf(`${phase}/${task}`), 1),
  });
  const behaviourOf =
    (name: string): Behaviour =>
    (request) =>
      options.behave === undefined ? standard(request) : options.behave(request, standard, name);
  const scripted = {
    window: options.window ?? 200_000,
    behaviour: behaviourOf("in-process"),
    onExchange: (exchange: Exchange) => void exchanges.push(exchange),
  };
  const others = (options.others ?? []).map((name) =>
    inProcessAgent({ ...scripted, name, behaviour: behaviourOf(name) }),
  );
  const made = await agentOf(options.agent ?? "in-process", scripted);
  const { agent, url } = options.with === undefined ? made : { ...made, agent: options.with };
  const env = { ...rehearsalEnv({ folder: home, repository: options.repo, home }, url), ...options.env };
  let held: HeldRun | undefined;
  const prepared = await preparePlan(options.repo, "PLAN.md", {});
  if (!prepared.ok) throw new Error(`the plan is not sound: ${JSON.stringify(prepared.failure)}`);
  const config = configSchema.parse({
    model: "claude-sonnet-4-5",
    permission_mode: "all",
    ...options.config,
  });
  if (options.learned !== undefined) await new FileStore(options.repo).learn(agent.name, options.learned);
  const equipment: Equipment = {
    agent,
    others,
    agentEnv: env,
    gateEnv: env,
    isolated: true,
    permissions: "all",
    worktrees: join(home, "worktrees"),
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event, held);
    },
  };
  const started = await startRun(
    options.store ?? new FileStore(options.repo),
    prepared.value,
    {
      cwd: options.repo,
      config,
      mode: "rehearsal",
      gates: options.gates ?? "block",
      allowDirty: options.allowDirty ?? false,
      attended: options.attended,
    },
    equipment,
  );
  if (!started.ok) throw new Error(`the run did not start: ${JSON.stringify(started.failure)}`);
  held = started.value;
  options.onHeld?.(held);
  const status = await conductRun(held);
  await expectNoProcess(held.run.state.run);
  return {
    status,
    events,
    held,
    equipment,
    exchanges,
    done,
    of: (type) => events.filter((event): event is FactOf<typeof type> & RunEvent => event.type === type),
  };
}

/** With Claude Code where it is the subject. */
export const rehearseWithClaude = (options: RehearsalOptions): Promise<Rehearsed> =>
  rehearse({ agent: "claude", ...options });

async function agentOf(
  who: AgentKind,
  scripted: Parameters<typeof startStandIn>[0],
): Promise<{ agent: Agent; url: string }> {
  if (who === "in-process") return { agent: inProcessAgent(scripted), url: "http://127.0.0.1:9" };
  const standIn = await startStandIn(scripted);
  whenOver(() => standIn.close());
  const agents = {
    claude: () => claudeAgent(undefined),
    codex: () => codexAgent(CODEX),
    opencode: () => opencodeAgent(OPENCODE),
  };
  return { agent: agents[who](), url: standIn.url };
}

/** Takes the run up again, with the same stand-in. */
export async function resumeRehearsal({ held, equipment }: Rehearsed): Promise<string> {
  const { run, config } = held.run.state;
  const resumed = await resumeRun(new FileStore(held.top), held.top, run, config, equipment);
  if (!resumed.ok) throw new Error(`the run was not resumed: ${JSON.stringify(resumed.failure)}`);
  const status = await conductRun(resumed.value);
  await expectNoProcess(run);
  return status;
}

/** Nothing of the run may outlive it. */
export async function expectNoProcess(run: string): Promise<void> {
  expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
}
