/** Everything a performer may touch. */
import type { Agent, AgentSession } from "../agents/agent.js";
import type { Git } from "../git/git.js";
import type { Claims } from "../handover/checkpoint.js";
import type { LiveRun } from "./live-run.js";

/** A session whose agent is running. */
export interface OpenSession {
  agent: AgentSession;
  /** What the agent handed over, if it was asked to. */
  claims: Claims | undefined;
}

export interface World {
  run: LiveRun;
  git: Git;
  agent: Agent;
  /** What the agent gets as its environment, and what the user's gates get. */
  agentEnv: Record<string, string>;
  gateEnv: Record<string, string>;
  /** Load no settings of the user or the project: rehearsals and tests. */
  isolated: boolean;
  permissionMode: "bypassPermissions" | "acceptEdits" | "dontAsk" | "auto";
  /** Reads a plan file of the checkout. */
  readPlanFile: (path: string) => string | undefined;
  writePlanFile: (path: string, content: string) => void;
  sessions: Map<string, OpenSession>;
}

/** Marks the processes of one session or gate, in their environment. */
export const markerOf = (run: string, id: string): string => `${run}:${id}`;
