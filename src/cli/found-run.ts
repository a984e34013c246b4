/** The run a command is about: the one that was named, else the newest. */
import { bad, good, type Result } from "../engine/failure.js";
import type { Store } from "../store/store.js";
import { sayAway, storeHere } from "./store-here.js";
import { repositoryTop } from "./top.js";

export interface FoundRun {
  top: string;
  store: Store;
  run: string;
}

const SHORTEST = 4;
const NONE = bad({ type: "no-run", run: undefined });

/** By its id, or by the beginning of the id's last part where only one begins so. */
export function runNamed(runs: readonly string[], named: string): Result<string> {
  if (runs.includes(named)) return good(named);
  const short = named.length < SHORTEST ? [] : runs.filter((run) => run.split("-").at(-1)?.startsWith(named) === true);
  const [only] = short;
  if (only !== undefined && short.length === 1) return good(only);
  if (short.length === 0) return bad({ type: "no-run", run: named });
  return bad({ type: "usage", what: `Several runs are called ${named}.`, fix: `Name one: ${short.join(", ")}.` });
}

export async function findRun(named: string | undefined, flags: { json?: boolean } = {}): Promise<Result<FoundRun>> {
  const top = await repositoryTop();
  if (!top.ok) return top;
  const { store, away } = await storeHere(top.value, flags);
  const runs = await store.list();
  // Where somebody works in this checkout now, that is what is meant.
  const newest = (await store.checkoutHolder())?.run ?? runs[0];
  const run = named !== undefined ? runNamed(runs, named) : newest !== undefined ? good(newest) : NONE;
  // It may be one of those that cannot be seen now.
  if (!run.ok && away !== undefined) return bad(away);
  sayAway(away);
  return run.ok ? good({ top: top.value, store, run: run.value }) : run;
}
