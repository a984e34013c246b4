/** `progress` and `done`: for agents without MCP, which find the run through the environment Segno gave them. */
import { readFileSync } from "node:fs";
import { askHolder } from "../../engine/ask-holder.js";
import { printFailure } from "../print-failure.js";
import { say } from "./steer.js";

export interface DoneFlags {
  phase: string;
  status?: string;
  summary?: string;
  /** JSON, or a file that holds it. */
  split?: string;
  json?: boolean;
}

export async function progressCommand(message: string, flags: { task?: string; json?: boolean }): Promise<number> {
  return report("progress", { message, task: flags.task }, flags.json === true);
}

export async function doneCommand(flags: DoneFlags): Promise<number> {
  const own = process.env.SEGNO_PHASE;
  const json = flags.json === true;
  if (own !== undefined && flags.phase !== own) {
    return printFailure(
      {
        type: "usage",
        what: `This session works on phase ${own}, not on phase ${flags.phase}.`,
        fix: `segno done --phase ${own}`,
      },
      json,
    );
  }
  const { status = "completed", summary = `Phase ${flags.phase} was reported as ${status}.` } = flags;
  const split = readSplit(flags.split);
  if (split === "unreadable")
    return printFailure(
      { type: "usage", what: `--split is neither JSON nor a file with JSON: ${flags.split}.`, fix: SPLIT_EXAMPLE },
      json,
    );
  if (status === "split_request" && split === undefined)
    return printFailure(
      { type: "usage", what: "A split needs its parts.", fix: `Give them with --split. ${SPLIT_EXAMPLE}` },
      json,
    );
  const nothing = { tasks_completed: [], tasks_remaining: [], files_modified: [], decisions: [] };
  return report("done", { status, summary, ...nothing, split_details: split }, json);
}

const SPLIT_EXAMPLE =
  'For example: --split \'{"reason": "two areas", "recommended_sub_phases": [{"title": "Core", "tasks": ["2.1"]}, {"title": "Screens", "tasks": ["2.2"], "depends_on": ["Core"]}]}\'';

function readSplit(given: string | undefined): unknown {
  if (given === undefined) return undefined;
  try {
    return JSON.parse(given.trimStart().startsWith("{") ? given : readFileSync(given, "utf8")) as unknown;
  } catch {
    return "unreadable";
  }
}

async function report(path: string, body: object, json: boolean): Promise<number> {
  const { SEGNO_DOOR: url, SEGNO_TOKEN: token } = process.env;
  if (url === undefined || token === undefined) {
    return printFailure(
      {
        type: "usage",
        what: "This command is for agents inside a run, and there is none around it.",
        fix: "Segno sets SEGNO_DOOR and SEGNO_TOKEN in the sessions it starts; from another terminal use `segno status`, `segno pause`, `segno skip` or `segno stop`.",
      },
      json,
    );
  }
  const { ok, message } = await askHolder({ url, token }, path, body);
  return say(json, ok, message);
}
