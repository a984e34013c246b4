/**
 * The agent port: the only thing the engine knows about coding agents.
 *
 * An implementer must
 * - report what it sees through `observe`, in order and at once: nothing slow may stand between stream and meter;
 * - report a call's usage before the results of the tools it called, and a result to the meter before it reports the tool;
 * - ask `boundary` before each call of the main thread that follows finished tools, once however often the call is
 *   retried, never for a sub-agent's, and only when every observation of those tools has been reported; stop the turn
 *   there if told to. One that cannot (`stop: "cancel"`) asks when the tools have finished, and cancels;
 * - bring what it is given there (`tell`) to the model before that call, if it can (`tells`);
 * - ask `begins` before each tool of the main thread that is not ours, with what was seen so far reported, if it can refuse
 *   tools (`refuses`), and answer the call with what it is given instead of running it;
 * - normalise usage: what was cached is not in `input`, what was thought is in `output`;
 * - resolve `send` only when the agent is idle: its turn is over and no sub-agent or background task of it is left;
 * - ask `givesUp` before each retry that the agent makes by itself, and end the turn if told so;
 * - bear to be closed in the middle of a turn: one that only retries is not waited for once its run is to stop;
 * - leave no process behind when `close` resolves.
 *
 * It must never throw from `send` or `close`: how a turn ended, a crash included, is a value. Its names for tools, its
 * words about logins and its prices stay inside it.
 */
import type { MeterInput } from "../context/meter.js";
import type { Price } from "../context/prices.js";
import type { FailedKind, StopWhy, ToolKind, TurnEnd, Usage } from "../run/event.js";
import type { SegnoTools, ToolName } from "../tools/tools.js";

export interface AgentAbilities {
  /** How a running turn can be stopped: between finished tools and the next call, or only by cancelling it. */
  stop: "boundary" | "cancel";
  usage: "call" | "turn" | "never";
  /** Whether its own compaction can be kept from happening. */
  compaction: "vetoed" | "own";
  /** Whether tools can be refused while they stay listed, as a checkpoint turn needs it. */
  refuses: boolean;
  /** Whether something can be said to it at a boundary; else it hears it with the answer of one of our tools. */
  tells: boolean;
  resume: boolean;
}

export type Observation =
  | { type: "ready"; agentSession: string; model: string }
  /** How large its window is, and where it compacts by itself: known at once, or later. */
  | { type: "window"; window: number; compactAt: number | undefined }
  | { type: "meter"; input: MeterInput }
  | { type: "call"; id: string; model: string; usage: Usage; subagent: boolean }
  | {
      type: "tool";
      id: string;
      kind: ToolKind;
      /** As a person would call it; of ours the bare name. */
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
  /** A tool that it may not use, and why, as it says. */
  | { type: "refused"; tool: string; why: string }
  /** A tool call began; `id` names it until its `tool` observation. */
  | { type: "tool-started"; id: string }
  /** Any other sign of life. */
  | { type: "alive" }
  | { type: "said"; text: string }
  | { type: "compacted"; before: number; after: number | undefined };

/** A retry that the agent is about to make by itself. */
export interface Retry {
  attempt: number;
  kind: FailedKind;
  message: string;
}

export interface SessionHandlers {
  /** The agent's main process was started: it must not outlive Segno. */
  spawned(pid: number): void;
  observe(observation: Observation): void;
  /** `tell`: what the model is to read before its next call. */
  boundary(): Promise<{ stop: false; tell?: string | undefined } | { stop: true; why: StopWhy }>;
  /** A tool is about to run: undefined, or what its call is answered with instead. */
  begins(kind: ToolKind): string | undefined;
  /** The agent wants to compact its context: whether it may. */
  mayCompact(): boolean;
  /** Whether this retry is one too many. */
  givesUp(retry: Retry): boolean;
}

/** What the agent may do without asking: everything, edits in the checkout, what its own settings list, as it judges. */
export type PermissionLevel = "all" | "edits" | "listed" | "auto";

export interface SessionOptions {
  /** Marks every process of the session, in its environment. */
  marker: string;
  cwd: string;
  env: Record<string, string>;
  model: string | undefined;
  permissions: PermissionLevel;
  /** It judges, and may change nothing. */
  readOnly: boolean;
  /** Load no settings of the user or the project. */
  isolated: boolean;
  /** Whether it may compact its context by itself; else it is to be switched off, where it can be. */
  compacts: boolean;
  /** The agent's own session to take up again; only where `canResume` said so. */
  resume: string | undefined;
  /** The agent's own sandbox for shell commands, and tools it may or may not use, as the agent calls them. */
  sandbox: boolean;
  allowedTools: readonly string[];
  deniedTools: readonly string[];
  tools: SegnoTools;
  /** Where the same tools are served over MCP, for agents outside this process; undefined where nobody serves them. */
  mcp: { url: string; token: string } | undefined;
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
  /** As people call it. */
  title: string;
  abilities: AgentAbilities;
  /** What each permission level means for it, in words; one that it cannot keep is not there. */
  levels: Readonly<Partial<Record<PermissionLevel, string>>>;
  /** Why it will not work at this level with this environment, and what to do, if so. */
  refusesHere?(level: PermissionLevel, env: Readonly<Record<string, string>>): { why: string; fix: string } | undefined;
  /** Whether it has a sandbox of its own for `sandbox: true`. */
  sandboxes: boolean;
  /** The variable that names another folder for its login and settings. */
  homeVariable: string;
  /** Files of a project that it reads by itself. */
  reads: readonly string[];
  /** What to do where it is missing, or not logged in. */
  help: { install: string; login: string };
  /** Whether a file is called as it calls those it writes before it renames them: one that is killed leaves them. */
  isDraft(name: string): boolean;
  /** What its model sees as the name of one of Segno's tools. */
  toolName(tool: ToolName): string;
  /** Who is named beside the user in a commit. */
  credit(model: string): string;
  /** Undefined where it is not known. */
  priceOf(model: string): Price | undefined;
  /** Tells the accounts that an environment may mean from each other, and nothing else of them. */
  account(env: Readonly<Record<string, string>>): string;
  /** Whether it can be started and used, found out without a model call. */
  check(env: Record<string, string>, cwd: string): Promise<AgentCheck>;
  /** Only what must be known before a run. */
  checkQuickly(env: Record<string, string>, cwd: string): Promise<AgentCheck>;
  /** Whether the agent still has this conversation. */
  canResume(agentSession: string, env: Record<string, string>): Promise<boolean>;
  open(options: SessionOptions): Promise<AgentSession>;
}

/** What an agent cannot do that a run would need, in words, before it begins. */
export function shortcomings({ title, abilities, sandboxes }: Agent, { sandbox }: { sandbox: boolean }): string[] {
  const { stop, usage, compaction, refuses, resume } = abilities;
  return [
    sandbox && !sandboxes ? `${title} has no sandbox of its own: sandbox: true changes nothing for it.` : "",
    stop === "cancel" ? `${title} can only be stopped by cancelling: a tool that runs then may be cut off.` : "",
    usage === "call"
      ? ""
      : `${title} reports no usage per call: the context is estimated, and tool_call_threshold counts.`,
    compaction === "vetoed" ? "" : `${title} compacts by itself: where that comes first, what it forgets is forgotten.`,
    refuses ? "" : `${title} cannot be kept from using other tools while it hands over.`,
    resume ? "" : `${title} cannot take up a conversation again: after an interruption the ledger serves.`,
  ].filter((text) => text !== "");
}
