/** Keeps what a session handed over, with what the ledger and git say under it. */
import { changedSince } from "../git/start.js";
import { roughTokens } from "../handover/bounded.js";
import { renderCheckpoint } from "../handover/checkpoint.js";
import { isAttempt, phaseOf, stateOfPhase } from "../run/state.js";
import type { OpenSession, World } from "./world.js";

export async function saveCheckpoint(
  world: World,
  live: OpenSession,
  place: { session: string; phase: string; attempt: number },
) {
  const { run, git } = world;
  const state = stateOfPhase(run.state, place.phase);
  if (!isAttempt(state)) return;
  const files = await changedSince(git, state.baseline).catch(() => []);
  const { claims } = live;
  const { tasks } = phaseOf(run.state, place.phase);
  const text = renderCheckpoint({ claims, ledger: run.ledger(place.phase), files, tasks, tasksDone: state.tasksDone });
  const source = claims === undefined ? "ledger" : "tool";
  run.append({ type: "checkpoint-saved", ...place, checkpoint: run.putBlob(text), source, tokens: roughTokens(text) });
}
