/** A run in this process: real Claude Code, real git, the stand-in model on loopback. */
import { join } from "node:path";
import { expect } from "vitest";
import { claudeAgent } from "../../src/agents/claude.js";
import { findProcesses } from "../../src/agents/processes.js";
import { type Config, configSchema } from "../../src/config/schema.js";
import type { Learned } from "../../src/context/forecast.js";
import { conductRun } from "../../src/engine/conduct.js";
import { resumeRun } from "../../src/engine/resume.js";
import { preparePlan, startRun } from "../../src/engine/start.js";
import type { Hands, World } from "../../src/engine/world.js";
import { type Behaviour, type Exchange, startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { worker } from "../../src/rehearsal/worker.js";
import type { FactOf, FactType, RunEvent } from "../../src/run/event.js";
import { FileStore } from "../../src/store/file.js";
import { scratchFolder, whenOver } from "./scratch.js";

export interface RehearsalOptions {
  repo: string;
  config?: Partial<Config>;
  charsPerTask?: number;
  /** Answers instead of the worker where it returns something. */
  behave?: (request: Parameters<Behaviour>[0], worker: Behaviour) => ReturnType<Behaviour>;
  gates?: "block" | "report";
  allowDirty?: boolean;
  window?: number;
  attended?: boolean;
  /** More of an environment for the agent. */
  env?: Record<string, string>;
  /** What earlier phases of this repository taught. */
  learned?: Learned;
  /** Called with each event, as it happens. */
  onEvent?: (event: RunEvent, world: World | undefined) => void;
}

export interface Rehearsed {
  status: string;
  events: RunEvent[];
  world: World;
  hands: Hands;
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
  });
  const standIn = await startStandIn({
    window: options.window ?? 200_000,
    behaviour: (request) => (options.behave === undefined ? standard(request) : options.behave(request, standard)),
    onExchange: (exchange) => exchanges.push(exchange),
  });
  whenOver(() => standIn.close());
  const env = { ...rehearsalEnv({ folder: home, repository: options.repo, home }, standIn.url), ...options.env };
  let world: World | undefined;
  const prepared = await preparePlan(options.repo, "PLAN.md", {});
  if (!prepared.ok) throw new Error(`the plan is not sound: ${JSON.stringify(prepared.failure)}`);
  const config = configSchema.parse({
    model: "claude-sonnet-4-5",
    permission_mode: "bypassPermissions",
    ...options.config,
  });
  if (options.learned !== undefined) await new FileStore(options.repo).learn("claude", options.learned);
  const hands: Hands = {
    agent: claudeAgent(undefined),
    agentEnv: env,
    gateEnv: env,
    isolated: true,
    permissionMode: "bypassPermissions",
    worktrees: join(home, "worktrees"),
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event, world);
    },
  };
  const started = await startRun(
    new FileStore(options.repo),
    prepared.value,
    {
      cwd: options.repo,
      config,
      mode: "rehearsal",
      gates: options.gates ?? "block",
      allowDirty: options.allowDirty ?? false,
      attended: options.attended,
    },
    hands,
  );
  if (!started.ok) throw new Error(`the run did not start: ${JSON.stringify(started.failure)}`);
  world = started.value;
  const status = await conductRun(world);
  await expectNoProcess(world.run.state.run);
  return {
    status,
    events,
    world,
    hands,
    exchanges,
    done,
    of: (type) => events.filter((event): event is FactOf<typeof type> & RunEvent => event.type === type),
  };
}

/** Takes the run up again, with the same stand-in. */
export async function resumeRehearsal({ world, hands }: Rehearsed): Promise<string> {
  const { run, config } = world.run.state;
  const resumed = await resumeRun(new FileStore(world.top), world.top, run, config, hands);
  if (!resumed.ok) throw new Error(`the run was not resumed: ${JSON.stringify(resumed.failure)}`);
  const status = await conductRun(resumed.value);
  await expectNoProcess(run);
  return status;
}

/** Nothing of the run may outlive it. */
export async function expectNoProcess(run: string): Promise<void> {
  expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
}
