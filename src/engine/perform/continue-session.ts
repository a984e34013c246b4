import { changedSince } from "../../git/start.js";
import { roughTokens } from "../../handover/bounded.js";
import { renderCheckpoint } from "../../handover/checkpoint.js";
import { checkpointPrompt, nudgePrompt } from "../../handover/prompts.js";
import { isAttempt, phaseOf, stateOfPhase } from "../../run/state.js";
import type { Performer } from "../performer.js";
import type { OpenSession, World } from "../world.js";

/** One more turn in the same live process, where the prompt cache is warm: a nudge, or the checkpoint. */
export const continueSession: Performer<"continue-session"> = async (world, { id, session, phase, attempt, turn }) => {
  const { run } = world;
  const live = world.sessions.get(session);
  if (live === undefined) throw new Error(`session ${session} is not live`);
  run.append({ type: "turn-started", session, phase, attempt, turn });
  const asksCheckpoint = turn === "checkpoint";
  const end = await live.agent.send(asksCheckpoint ? checkpointPrompt() : nudgePrompt(), {
    onlySegnoTools: asksCheckpoint,
  });
  if (asksCheckpoint) await saveCheckpoint(world, live, { session, phase, attempt });
  run.append({ type: "turn-ended", command: id, session, phase, attempt, end });
};

async function saveCheckpoint(
  world: World,
  live: OpenSession,
  place: { session: string; phase: string; attempt: number },
) {
  const { run, git } = world;
  const state = stateOfPhase(run.state, place.phase);
  if (!isAttempt(state)) return;
  const files = await changedSince(git, state.baseline);
  const { claims } = live;
  const { tasks } = phaseOf(run.state, place.phase);
  const text = renderCheckpoint({ claims, ledger: run.ledger(place.phase), files, tasks, tasksDone: state.tasksDone });
  const source = claims === undefined ? "ledger" : "tool";
  run.append({ type: "checkpoint-saved", ...place, checkpoint: run.putBlob(text), source, tokens: roughTokens(text) });
}
