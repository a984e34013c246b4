import { reportedIn } from "../../handover/ledger.js";
import { isAttempted } from "../../run/phase.js";
import { changedByPhase } from "../checkpoint.js";
import { groundOf } from "../ground.js";
import type { Performer } from "../performer.js";
import type { World } from "../world.js";

/** How long to wait for a limit whose end is not known. */
const UNKNOWN_LIMIT_MS = 10 * 60_000;

/** Ends the session and every process it started. */
export const endSession: Performer<"end-session"> = async (world, { id, session, phase, attempt, reason }) => {
  const live = world.sessions.get(session);
  const state = world.run.state.sessions.get(session);
  const end = state?.step === "idle" ? state.end : undefined;
  const message = end !== undefined && "message" in end ? end.message : undefined;
  live?.measure();
  const silent = !reportedIn(world.run.ledger(phase), session);
  if (silent && reason !== "result" && reason !== "skipped" && live !== undefined) {
    world.run.warn(`Session ${session} reported no progress: the next one leans on git.`, phase);
  }
  const swept = (await live?.close()) ?? 0;
  world.sessions.delete(session);
  const lines = state?.purpose === "remediate" ? await linesChanged(world, phase) : undefined;
  const ended = { type: "session-ended", command: id, session, phase, attempt, reason, message, swept, lines } as const;
  const chance = reason === "api-error" ? Math.random() : undefined;
  if (reason !== "limit") {
    await world.run.record({ ...ended, chance });
    return;
  }
  const known = end?.type === "failed" ? end.until : undefined;
  const until = known ?? new Date(Date.now() + UNKNOWN_LIMIT_MS).toISOString();
  await world.run.record(ended, { type: "limit-reached", until, message: message ?? "a usage limit was reached" });
};

async function linesChanged(world: World, phase: string): Promise<number | undefined> {
  const { run } = world;
  const { git } = groundOf(world, phase);
  const state = run.state.phases.get(phase);
  if (!isAttempted(state)) return undefined;
  const files = await changedByPhase(git, state.attempt.ground.baseline, run.state.plan);
  return files.reduce((sum, { added = 0, removed = 0 }) => sum + added + removed, 0);
}
