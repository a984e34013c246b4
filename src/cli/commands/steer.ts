/** `pause`, `continue`, `stop`, `skip`, `answer`: from any terminal in the repository, through the door of the run that is in progress. */

import { RUN_LOCK } from "../../engine/claim.js";
import { type DoorFile, readDoor, skipPhase } from "../../engine/door.js";
import { findInterrupted } from "../../engine/interrupted.js";
import { answerQuestion } from "../../engine/questions.js";
import { appendToRun } from "../../engine/resume.js";
import { listRuns, runFolder } from "../../engine/runs.js";
import { holderOf } from "../../store/lock.js";
import { EXIT } from "../exit.js";
import { knock } from "../knock.js";
import { printFailure } from "../print.js";
import { repositoryTop } from "../top.js";

type Act = "pause" | "continue" | "stop";

export async function steerCommand(act: Act, flags: { json?: boolean }): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const live = liveRun(top.value);
  if (live !== undefined) return knockAndSay(live, act, {}, json);
  const left = findInterrupted(top.value, undefined, new Date());
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
  const live = liveRun(top.value);
  if (live !== undefined) return knockAndSay(live, "skip", { phase }, json);
  const left = findInterrupted(top.value, undefined, new Date());
  if (left === undefined) return say(json, false, "No run is in progress or interrupted here.");
  // Nobody holds the run: what is asked is written into its journal for whoever takes it up again.
  const said = await appendToRun(top.value, left.run, (run) => skipPhase({ run }, phase));
  if (!said.ok) return printFailure(said.failure, json);
  return typeof said.value === "string" ? say(json, true, said.value) : say(json, false, said.value.missing);
}

/** `[RUN] [QUESTION] CHOICE`: what is left out is the only one there is. */
export async function answerCommand(words: string[], flags: { json?: boolean }): Promise<number> {
  const json = flags.json === true;
  const [answer, question, named] = words.toReversed();
  if (answer === undefined || words.length > 3)
    return say(json, false, "Answer with: segno answer [RUN] [QUESTION] CHOICE");
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const live = liveRun(top.value);
  if (live !== undefined && (named === undefined || named === live.run)) {
    return knockAndSay(live, "answer", { question, answer }, json);
  }
  const left = named ?? findInterrupted(top.value, undefined, new Date())?.run;
  if (left === undefined || !listRuns(top.value).includes(left)) {
    return say(json, false, "No run is in progress or interrupted here, so nothing is asked.");
  }
  const said = await appendToRun(top.value, left, (run) => answerQuestion(run, question, answer, "segno answer"));
  if (!said.ok) return printFailure(said.failure, json);
  return typeof said.value === "string" ? say(json, true, said.value) : say(json, false, said.value.missing);
}

/** The run that a living process holds in this checkout. */
function liveRun(top: string): DoorFile | undefined {
  for (const run of listRuns(top)) {
    const folder = runFolder(top, run);
    if (holderOf(folder, RUN_LOCK) !== undefined) return readDoor(folder);
  }
  return undefined;
}

/** Knocks, and says what came back. */
export async function knockAndSay(
  door: Pick<DoorFile, "url" | "token">,
  path: string,
  body: object,
  json: boolean,
): Promise<number> {
  const { ok, message } = await knock(door, path, body);
  return say(json, ok, message);
}

function say(json: boolean, ok: boolean, message: string): number {
  if (json) console.log(JSON.stringify({ ok, message }));
  else if (ok) console.log(message);
  else console.error(`segno: ${message}`);
  return ok ? EXIT.done : EXIT.usage;
}
