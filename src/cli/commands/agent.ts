/** `progress` and `done`: for agents without MCP, which find the run through the environment Segno gave them. */
import { printFailure } from "../print-failure.js";
import { askAndSay } from "./steer.js";

export interface DoneFlags {
  phase: string;
  status?: string;
  summary?: string;
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
  return report(
    "done",
    { status, summary, tasks_completed: [], tasks_remaining: [], files_modified: [], decisions: [] },
    json,
  );
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
  return askAndSay({ url, token }, path, body, json);
}
