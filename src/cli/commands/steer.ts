/** `pause`, `continue`, `stop`, `skip`: from any terminal in the repository, through the door of the run that is in progress. */

import { bad, good, type Result } from "../../engine/failure.js";
import { findInterrupted } from "../../engine/interrupted.js";
import { appendToRun, stateOf } from "../../engine/resume.js";
import { askRun, type SteerName, skipPhase } from "../../engine/steering.js";
import type { Store } from "../../store/store.js";
import { EXIT } from "../exit.js";
import { runNamed } from "../found-run.js";
import { printFailure } from "../print-failure.js";
import { storeHere } from "../store-here.js";
import { repositoryTop } from "../top.js";

type Act = "pause" | "continue" | "stop";

interface SteerFlags {
  json?: boolean;
  run?: string;
}

export async function steerCommand(act: Act, flags: SteerFlags): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const { store, away } = await storeHere(top.value, flags);
  const meant = await runMeant(store, flags.run);
  if (!meant.ok) return printFailure(away ?? meant.failure, json);
  const live = meant.value;
  if (live !== undefined) return askAndSay(store, live, act, {}, json);
  if (away !== undefined) return printFailure(away, json);
  const left = await findInterrupted(store, { top: top.value }, new Date());
  return say(
    json,
    false,
    left === undefined
      ? "No run is in progress here."
      : `No run is in progress here. Go on with the last one: segno resume ${left.run}`,
  );
}

export async function skipCommand(phase: string, flags: SteerFlags): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const { store, away } = await storeHere(top.value, flags);
  const meant = await runMeant(store, flags.run);
  if (!meant.ok) return printFailure(away ?? meant.failure, json);
  const live = meant.value;
  if (live !== undefined) return askAndSay(store, live, "skip", { phase }, json);
  if (away !== undefined) return printFailure(away, json);
  const left = await findInterrupted(store, { top: top.value }, new Date());
  if (left === undefined) return say(json, false, "No run is in progress or interrupted here.");
  // Nobody holds the run: what is asked is written into its journal for whoever takes it up again.
  const said = await appendToRun(store, left.run, (run) => skipPhase(run, phase));
  if (!said.ok) return printFailure(said.failure, json);
  return typeof said.value === "string" ? say(json, true, said.value) : say(json, false, said.value.missing);
}

/** The one that was named, if it goes on; else whichever does. */
async function runMeant(store: Store, named: string | undefined): Promise<Result<string | undefined>> {
  if (named === undefined) return good(await liveRun(store));
  const run = runNamed(await store.list(), named);
  if (!run.ok || (await goesOn(store, run.value))) return run;
  return bad({ type: "usage", what: `Run ${run.value} is not in progress.`, fix: `segno status ${run.value}` });
}

/** How many of the newest runs are looked at. */
const NEWEST = 20;

/** The run that goes on now: in this checkout, or else in another of the repository, or on the team's machines. */
export async function liveRun(store: Store): Promise<string | undefined> {
  const here = await store.checkoutHolder();
  if (here !== undefined) return here.run;
  for (const run of (await store.list()).slice(0, NEWEST)) if (await goesOn(store, run)) return run;
  return undefined;
}

/** Somebody holds it; or nobody needs to, for what is said to be written down, as long as it is not over. */
async function goesOn(store: Store, run: string): Promise<boolean> {
  const open = await store.steer(run, (text) => text);
  if (open === undefined) return (await store.holder(run)) !== undefined;
  await open.journal.close();
  return stateOf(open.events)?.status === "running";
}

/** Asks the run, and says what came back. */
export async function askAndSay(
  store: Store,
  run: string,
  act: SteerName,
  body: Record<string, unknown>,
  json: boolean,
): Promise<number> {
  const { ok, message } = await askRun(store, run, act, body);
  return say(json, ok, message);
}

export function say(json: boolean, ok: boolean, message: string): number {
  if (json) console.log(JSON.stringify({ ok, message }));
  else if (ok) console.log(message);
  else console.error(`segno: ${message}`);
  return ok ? EXIT.done : EXIT.usage;
}
