import { withKind } from "../../handover/prompts.js";
import { withToolNames } from "../../handover/templates.js";
import { saveCheckpoint } from "../checkpoint.js";
import { agentOfSession } from "../held-run.js";
import type { Performer } from "../performer.js";
import { sendTurn } from "../turn.js";
import { warmUp } from "../warm.js";

/** One more turn in the same live process, where the prompt cache is warm: a nudge, or the checkpoint. */
export const continueSession: Performer<"continue-session"> = async (held, command) => {
  const { id, session, phase, attempt, turn, next } = command;
  const { run } = held;
  const live = held.sessions.get(session);
  if (live === undefined) throw new Error(`session ${session} is not live`);
  run.append({ type: "turn-started", session, phase, attempt, turn });
  const asksCheckpoint = turn === "checkpoint";
  if (next !== undefined) {
    const { agent, model, ...place } = next;
    await warmUp(held, { ...place, phase, attempt }, { agent, model });
  }
  const agent = agentOfSession(held, session);
  const text = withToolNames(held.texts, agent.toolName)[turn];
  const end = await sendTurn(held, live, withKind(text, turn), asksCheckpoint);
  if (asksCheckpoint) await saveCheckpoint(held, live, { session, phase, attempt }, end);
  const said = live.said === "" ? undefined : run.putBlob(live.said);
  await run.record({ type: "turn-ended", command: id, session, phase, attempt, end, said });
};
