/** `pause`, `continue`, `stop`, `skip`: from any terminal in the repository, through the door of the run that is in progress. */

import { askHolder } from "../../engine/ask-holder.js";
import { skipPhase } from "../../engine/door.js";
import { findInterrupted } from "../../engine/interrupted.js";
import { appendToRun } from "../../engine/resume.js";
import { FileStore } from "../../store/file.js";
import type { Address, Store } from "../../store/store.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { repositoryTop } from "../top.js";

type Act = "pause" | "continue" | "stop";

export async function steerCommand(act: Act, flags: { json?: boolean }): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const store = new FileStore(top.value);
  const live = await liveRun(store);
  if (live !== undefined) return askAndSay(live, act, {}, json);
  const left = await findInterrupted(store, { top: top.value }, new Date());
  return say(
    json,
    false,
    left === undefined
      ? "No run is in progress here."
      : `No run is in progress here. Go on with the last one: segno resume ${left.run}`,
  );
}

export async function skipCommand(phase: string, flags: { json?: boolean }): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const store = new FileStore(top.value);
  const live = await liveRun(store);
  if (live !== undefined) return askAndSay(live, "skip", { phase }, json);
  const left = await findInterrupted(store, { top: top.value }, new Date());
  if (left === undefined) return say(json, false, "No run is in progress or interrupted here.");
  // Nobody holds the run: what is asked is written into its journal for whoever takes it up again.
  const said = await appendToRun(store, left.run, (run) => skipPhase({ run }, phase));
  if (!said.ok) return printFailure(said.failure, json);
  return typeof said.value === "string" ? say(json, true, said.value) : say(json, false, said.value.missing);
}

/** The run that a living process holds: in this checkout, or else in another of the repository. */
export async function liveRun(store: Store): Promise<Address | undefined> {
  const here = await store.checkoutHolder();
  if (here !== undefined) return store.address(here.run);
  for (const run of await store.list()) if ((await store.holder(run)) !== undefined) return store.address(run);
  return undefined;
}

/** Knocks, and says what came back. */
export async function askAndSay(
  door: Pick<Address, "url" | "token">,
  path: string,
  body: object,
  json: boolean,
): Promise<number> {
  const { ok, message } = await askHolder(door, path, body);
  return say(json, ok, message);
}

export function say(json: boolean, ok: boolean, message: string): number {
  if (json) console.log(JSON.stringify({ ok, message }));
  else if (ok) console.log(message);
  else console.error(`segno: ${message}`);
  return ok ? EXIT.done : EXIT.usage;
}
