/**
 * Events of older versions as this one writes them: the only place that knows what they looked like. Newer ones are
 * refused by whoever reads them.
 *
 *   1 → 2   absolute paths left the journal (`top`, `cwd`, folders of worktrees); a stop has a cause; what an agent
 *           handed over is a blob, not a file
 */
import { EVENT_VERSION, type RunEvent, type StopCause } from "./event.js";

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
      return { ...rest, folder: below(top, cwd) } as Raw;
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

const below = (top: string, cwd: string): string =>
  cwd.startsWith(`${top.replace(/\/$/, "")}/`) ? cwd.slice(top.replace(/\/$/, "").length + 1) : "";

function causeIn(by: string): StopCause {
  if (by.startsWith("a usage limit")) return "usage-limit";
  if (by.startsWith("the run's budget")) return "budget";
  return by.startsWith("context_policy") ? "context" : "asked";
}
