/**
 * Starts the agent of the session that will follow while the old one writes its checkpoint: most of a handover is the
 * start of a process. It gets its prompt only when its session begins; one that never does is closed with its phase.
 */
import { commandId, type Purpose } from "../run/command.js";
import { isAttempt, stateOfPhase } from "../run/state.js";
import { LiveSession, type Place } from "./live-session.js";
import type { World } from "./world.js";

/** A session that follows a handover has the purpose of the one before it. */
const purposeOf = ({ step, merge }: { step: string; merge: unknown }): Purpose => {
  if (merge !== undefined) return "merge";
  return step === "remediating" ? "remediate" : step === "reviewing" ? "verify" : "work";
};

export async function warmUp(world: World, phase: string): Promise<void> {
  const { state } = world.run;
  const attempt = stateOfPhase(state, phase);
  if (state.stopping || !isAttempt(attempt)) return;
  const session = commandId(phase, attempt.attempt, "session", attempt.sessions.length + 1);
  if (world.warm.has(session)) return;
  const live = new LiveSession(world, { session, phase, attempt: attempt.attempt, purpose: purposeOf(attempt) });
  world.warm.set(session, live);
  await live.open(undefined);
}

/** The session that was started ahead, or a new one. */
export function takeWarm(world: World, place: Place): LiveSession {
  const warm = world.warm.get(place.session);
  world.warm.delete(place.session);
  return warm instanceof LiveSession ? warm : new LiveSession(world, place);
}

export async function coolDown(world: World, phase?: string): Promise<void> {
  for (const [session, live] of world.warm) {
    if (phase !== undefined && live.phase !== phase) continue;
    world.warm.delete(session);
    await live.close();
  }
}
