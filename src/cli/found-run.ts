/** The run a command is about: the one that was named, else the newest. */
import { bad, good, type Result } from "../engine/failure.js";
import { FileStore } from "../store/file.js";
import type { Store } from "../store/store.js";
import { repositoryTop } from "./top.js";

export interface FoundRun {
  top: string;
  store: Store;
  run: string;
}

export async function findRun(named: string | undefined): Promise<Result<FoundRun>> {
  const top = await repositoryTop();
  if (!top.ok) return top;
  const store = new FileStore(top.value);
  const runs = await store.list();
  const run = named ?? runs[0];
  if (run === undefined || !runs.includes(run)) return bad({ type: "no-run", run: named });
  return good({ top: top.value, store, run });
}
