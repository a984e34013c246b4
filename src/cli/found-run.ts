/** The run a command is about: the one that was named, else the newest. */
import { bad, good, type Result } from "../engine/failure.js";
import { listRuns, runFolder } from "../engine/runs.js";
import { repositoryTop } from "./top.js";

export interface FoundRun {
  top: string;
  run: string;
  folder: string;
}

export async function findRun(named: string | undefined): Promise<Result<FoundRun>> {
  const top = await repositoryTop();
  if (!top.ok) return top;
  const runs = listRuns(top.value);
  const run = named ?? runs[0];
  if (run === undefined || !runs.includes(run)) return bad({ type: "no-run", run: named });
  return good({ top: top.value, run, folder: runFolder(top.value, run) });
}
