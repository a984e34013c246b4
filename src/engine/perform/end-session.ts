import { reportedIn } from "../../handover/ledger.js";
import type { Performer } from "../performer.js";

/** Ends the session and every process it started. */
export const endSession: Performer<"end-session"> = async (world, { id, session, phase, attempt, reason }) => {
  const live = world.sessions.get(session);
  const state = world.run.state.sessions.get(session);
  const end = state?.step === "idle" ? state.end : undefined;
  const message = end?.type === "failed" || end?.type === "crashed" ? end.message : undefined;
  live?.measure();
  const silent = !reportedIn(world.run.ledger(phase), session);
  if (silent && reason !== "result" && reason !== "skipped" && live !== undefined) {
    const message = `Session ${session} reported no progress: the next one leans on git.`;
    world.run.append({ type: "warned", phase, message });
  }
  const swept = (await live?.close()) ?? 0;
  world.sessions.delete(session);
  world.run.append({ type: "session-ended", command: id, session, phase, attempt, reason, message, swept });
};
