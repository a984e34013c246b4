/** Everything a performer may touch. */
import { join } from "node:path";
import type { Hono } from "hono";
import type { Agent, PermissionLevel } from "../agents/agent.js";
import { Crew } from "../agents/crew.js";
import type { Git } from "../git/git.js";
import type { NotedRefs } from "../git/noted-refs.js";
import type { Settings } from "../git/settings.js";
import type { Claims } from "../handover/claims.js";
import type { PromptTexts } from "../handover/templates.js";
import type { ReadPlanFile } from "../plan/model.js";
import type { BlobRef, RunEvent, TurnEnd } from "../run/event.js";
import type { Lock, Store } from "../store/store.js";
import type { SegnoTools } from "../tools/tools.js";
import type { CodeRemote } from "./code-remote.js";
import type { Guarded, PageRoutes } from "./guard.js";
import type { KeptFile } from "./kept-files.js";
import type { LiveRun } from "./live-run.js";
import type { PlanFiles } from "./plan-files.js";
import type { Reviver, Warden } from "./warden.js";

/** A session whose agent is running. */
export interface OpenSession {
  /** One turn. */
  send(prompt: string, options?: { onlySegnoTools: boolean }): Promise<TurnEnd>;
  /** All the agent said in its last turn. */
  said: string;
  /** What the agent handed over through its tool, if it did, and where it is kept. */
  handed: { claims: Claims; kept: BlobRef } | undefined;
  tools: SegnoTools;
  /** Writes down what filled its window. */
  measure(): void;
  close(): Promise<number>;
}

export interface WarmSession extends OpenSession {
  phase: string;
}

export interface HeldRun {
  run: LiveRun;
  store: Store;
  git: Git;
  /** The repository's top level, and the directory below it in which the run was started. */
  top: string;
  cwd: string;
  /** Where branches of phases are checked out. */
  checkouts: Map<string, string>;
  crew: Crew;
  /** What agents get as their environment, and what the user's gates get. */
  agentEnv: Record<string, string>;
  gateEnv: Record<string, string>;
  /** Load no settings of the user or the project: rehearsals and tests. */
  isolated: boolean;
  /** Whether gates that pass are also run without the phase's work, to tell which can fail at all: rehearsals. */
  triesGates: boolean;
  permissions: PermissionLevel;
  /** Reads a plan file of the checkout. */
  readPlanFile: ReadPlanFile;
  writePlanFile: (path: string, content: string) => void;
  /** As they were written, with no agent's names for the tools. */
  texts: PromptTexts;
  /** Where worktrees of phases are made. */
  worktrees: string;
  /** Whoever conducted it before ended in the middle: nothing of what it knew was put in order. */
  interrupted: boolean;
  /** Whether a branch that was moved is put back: not where the user moved it while nobody held the run. */
  restores: boolean;
  /** Branches whose worktrees had to be made anew when the run was taken up. */
  remade: Set<string>;
  /** The repository's settings and hooks as the run found them; there while it is conducted. */
  settings: Settings | undefined;
  /** The user's branches, tags and stashes, likewise. */
  refs: NotedRefs | undefined;
  /** What agents get beside their environment, so that their git leaves Segno's things alone. */
  gitEnv: Record<string, string>;
  /** What people wrote for Segno, by path, as it was last seen. */
  keptFiles: Map<string, KeptFile>;
  sessions: Map<string, OpenSession>;
  /** Sessions whose agent was started ahead of time and waits for its first prompt, by session. */
  warm: Map<string, WarmSession>;
  lock: Lock;
  /** Adds the web page to the door. */
  page: ((app: Hono<Guarded>) => PageRoutes) | undefined;
  /** Tells what takes long that the run was asked to stop. */
  stop: AbortSignal;
  /** Ends everything at once; there while somebody conducts the run who can. */
  endNow: (() => void) | undefined;
  warden: Warden;
  /** What was looked at before it is sent elsewhere, by content and path: whether it may be. */
  fitness: Map<string, boolean>;
  /** Undefined where all of the run is on this machine. */
  remote: CodeRemote | undefined;
  /** Whose account each agent uses, where others have other ones. */
  accounts: Readonly<Record<string, string>> | undefined;
  /** Leaves the phase to others, because this machine cannot go on; undefined where there are none. */
  leaves: ((why: string) => void) | undefined;
  /** What time it is where the run is kept. */
  now: () => number;
  /** There while the run is conducted. */
  door: { url: string; sessionToken(session: string): string } | undefined;
}

/** What a run works with, new or taken up again. */
export interface Equipment {
  agent: Agent;
  /** Other agents that may work here, too. */
  others?: readonly Agent[] | undefined;
  /** What is to be said of them when the run begins. */
  notices?: readonly string[] | undefined;
  agentEnv: Record<string, string>;
  gateEnv: Record<string, string>;
  isolated: boolean;
  triesGates?: boolean | undefined;
  permissions: PermissionLevel;
  worktrees: string;
  onEvent: (event: RunEvent) => void;
  /** What takes a run up again if this process dies; undefined: nothing does. */
  revives?: ((run: string, top: string) => Reviver | undefined) | undefined;
}

export interface Parts {
  run: LiveRun;
  store: Store;
  git: Git;
  files: PlanFiles;
  texts: PromptTexts;
  lock: Lock;
  /** At its post since before the first event of this process. */
  warden: Warden;
  interrupted: boolean;
}

export function heldRun(parts: Parts, equipment: Equipment): HeldRun {
  const { run, store, git, files, texts, lock, warden, interrupted } = parts;
  const { agent, others, agentEnv, gateEnv, isolated, permissions, worktrees } = equipment;
  const { read: readPlanFile, write: writePlanFile } = files;
  const stop = new AbortController();
  run.onEvent(() => {
    if (run.state.stopping !== undefined) stop.abort();
  });
  return {
    run,
    store,
    git,
    top: git.top,
    cwd: join(git.top, run.state.folder),
    checkouts: new Map(),
    crew: new Crew(agent, others),
    agentEnv,
    gateEnv,
    isolated,
    triesGates: equipment.triesGates === true,
    permissions,
    readPlanFile,
    writePlanFile,
    texts,
    worktrees,
    interrupted,
    restores: true,
    remade: new Set(),
    fitness: new Map(),
    settings: undefined,
    refs: undefined,
    gitEnv: {},
    keptFiles: new Map(),
    sessions: new Map(),
    warm: new Map(),
    lock,
    page: undefined,
    stop: stop.signal,
    endNow: undefined,
    warden,
    remote: undefined,
    accounts: undefined,
    leaves: undefined,
    now: Date.now,
    door: undefined,
  };
}

/** Whose conversation a session is. */
export const agentOfSession = ({ run, crew }: Pick<HeldRun, "run" | "crew">, session: string): Agent =>
  crew.of(run.state.sessions.get(session)?.agent ?? run.state.config.agent);
