/**
 * The agent port: the only thing the engine knows about coding agents.
 *
 * An implementer must
 * - report what it sees through `observe`, in order and at once: nothing slow may stand between stream and meter;
 * - ask `boundary` after each batch of tool calls of the main thread, never for a sub-agent's, and only when every
 *   observation of that batch has been reported; stop the turn there if told to;
 * - resolve `send` only when the agent is idle: its turn is over and no sub-agent or background task of it is left;
 * - leave no process behind when `close` resolves.
 *
 * It must never throw from `send` or `close`: how a turn ended, a crash included, is a value.
 */
import type { MeterInput } from "../context/meter.js";
import type { StopWhy, TurnEnd, Usage } from "../run/event.js";
import type { SegnoTools } from "../tools/tools.js";

export interface AgentAbilities {
  /** How a running turn can be stopped: after a tool has finished, or only by cancelling it. */
  stop: "boundary" | "cancel";
  usage: "call" | "turn" | "never";
  compactionVeto: boolean;
  resume: boolean;
}

export type Observation =
  | { type: "ready"; agentSession: string; model: string; window: number; compactAt: number | undefined }
  | { type: "meter"; input: MeterInput }
  | { type: "call"; id: string; model: string; usage: Usage; subagent: boolean }
  | {
      type: "tool";
      id: string;
      name: string;
      brief: string;
      ok: boolean;
      subagent: boolean;
      /** Short hashes of what it was called with and of what came back. */
      call: string;
      result: string;
      /** For an edit: the file, and the hash of what was written there. */
      edit: { file: string; to: string } | undefined;
    }
  /** A tool call began; `id` names it until its `tool` observation. */
  | { type: "tool-started"; id: string }
  /** Any other sign of life. */
  | { type: "alive" }
  | { type: "said"; text: string }
  | { type: "compacted"; before: number; after: number | undefined };

export interface SessionHandlers {
  /** The agent's main process was started: it must not outlive Segno. */
  spawned(pid: number): void;
  observe(observation: Observation): void;
  boundary(): Promise<{ stop: false } | { stop: true; why: StopWhy }>;
  /** The agent wants to compact its context: whether it may. */
  mayCompact(): boolean;
}

export interface SessionOptions {
  /** Marks every process of the session, in its environment. */
  marker: string;
  cwd: string;
  env: Record<string, string>;
  model: string | undefined;
  permissionMode: "bypassPermissions" | "acceptEdits" | "dontAsk" | "auto";
  /** Load no settings of the user or the project. */
  isolated: boolean;
  /** The agent's own session to take up again; only where `canResume` said so. */
  resume: string | undefined;
  /** The agent's own sandbox for shell commands, and tools it may or may not use. */
  sandbox: boolean;
  allowedTools: readonly string[];
  deniedTools: readonly string[];
  tools: SegnoTools;
  handlers: SessionHandlers;
}

export interface AgentSession {
  /** One turn. `onlySegnoTools`: every other tool stays listed and is refused. */
  send(prompt: string, options?: { onlySegnoTools: boolean }): Promise<TurnEnd>;
  /** Ends the session and everything it started; the number of processes that had to be ended. */
  close(): Promise<number>;
}

export type AgentCheck = { ok: true; account: string } | { ok: false; problem: "missing" | "no-login"; detail: string };

export interface Agent {
  name: string;
  /** Whether it can be started and used, found out without a model call. */
  check(env: Record<string, string>, cwd: string): Promise<AgentCheck>;
  /** Only what must be known before a run. */
  checkQuickly(env: Record<string, string>, cwd: string): Promise<AgentCheck>;
  abilities: AgentAbilities;
  /** Whether the agent still has this conversation. */
  canResume(agentSession: string, env: Record<string, string>): boolean;
  open(options: SessionOptions): Promise<AgentSession>;
}
