/**
 * Events of older versions as this one writes them: the only place that knows what they looked like. Newer ones are
 * refused by whoever reads them.
 *
 *   1 → 2   absolute paths left the journal (`top`, `cwd`, folders of worktrees); a stop has a cause; what an agent
 *           handed over is a blob, not a file; a tool has a kind and its plain name, a call its cost; permission levels
 *           have neutral names
 */
import { costAt, listPrice, type Price } from "../context/prices.js";
import { EVENT_VERSION, type RunEvent, type StopCause, type ToolKind, type Usage } from "./event.js";

type Raw = Record<string, unknown> & { v: number; type: string };

export function upcast(event: unknown): RunEvent {
  let raw = event as Raw;
  if (raw.v === 1) raw = { ...fromFirst(raw), v: 2 };
  if (raw.v !== EVENT_VERSION) throw new Error(`no way from version ${raw.v} to ${EVENT_VERSION}`);
  return raw as unknown as RunEvent;
}

function fromFirst(event: Raw): Raw {
  switch (event.type) {
    case "run-started": {
      const { top, cwd, ...rest } = event as Raw & { top: string; cwd: string };
      return { ...rest, config: neutral(event.config), folder: below(top, cwd) } as Raw;
    }
    case "run-resumed":
      return { ...event, config: neutral(event.config) };
    case "call-made": {
      const price = PRICES.find(([form]) => form.test(String(event.model)))?.[1];
      return { ...event, cost: costAt(price, event.usage as Usage) };
    }
    case "tool-finished": {
      const name = String(event.tool);
      const ours = name.startsWith(OURS);
      return { ...event, tool: ours ? name.slice(OURS.length) : name, kind: ours ? "segno" : (KINDS[name] ?? "other") };
    }
    case "phase-started": {
      const { worktree } = event as Raw & { worktree?: { branch: string } };
      return worktree === undefined ? event : { ...event, worktree: { branch: worktree.branch } };
    }
    case "stop-requested":
      return { ...event, cause: causeIn(String(event.by)) };
    case "checkpoint-saved": {
      const { slot, ...rest } = event;
      // The file may be gone; what was made of it is in a blob of its own.
      return { ...rest, handed: slot === "" ? undefined : event.checkpoint } as Raw;
    }
    default:
      return event;
  }
}

const OURS = "mcp__segno__";

const KINDS: Record<string, ToolKind> = {
  Read: "read",
  NotebookRead: "read",
  Bash: "shell",
  BashOutput: "shell",
  Grep: "search",
  Glob: "search",
  LS: "search",
  Edit: "edit",
  MultiEdit: "edit",
  Write: "edit",
  NotebookEdit: "edit",
  Agent: "agent",
  Task: "agent",
  WebFetch: "web",
  WebSearch: "web",
};

/** What version 0.1 knew. */
const PRICES: [RegExp, Price][] = [
  [/opus-4-(1|20)|opus-4$|3-opus/, listPrice(15, 75)],
  [/opus/, listPrice(5, 25)],
  [/sonnet/, listPrice(3, 15)],
  [/haiku-4/, listPrice(1, 5)],
];

const LEVELS: Record<string, string> = { bypassPermissions: "all", acceptEdits: "edits", dontAsk: "listed" };

function neutral(config: unknown): unknown {
  const { permission_mode: mode, ...rest } = config as { permission_mode?: string };
  return mode === undefined ? config : { ...rest, permission_mode: LEVELS[mode] ?? mode };
}

const below = (top: string, cwd: string): string =>
  cwd.startsWith(`${top.replace(/\/$/, "")}/`) ? cwd.slice(top.replace(/\/$/, "").length + 1) : "";

function causeIn(by: string): StopCause {
  if (by.startsWith("a usage limit")) return "usage-limit";
  if (by.startsWith("the run's budget")) return "budget";
  return by.startsWith("context_policy") ? "context" : "asked";
}
