/**
 * Starts the agent of the session that will follow while the old one writes its checkpoint: most of a handover is the
 * start of a process. It gets its prompt only when its session begins; one that never does is closed with its phase.
 */

import type { HeldRun } from "./held-run.js";
import { LiveSession, type SessionPlace } from "./live-session.js";

const newSession = async (held: HeldRun, place: SessionPlace): Promise<LiveSession> =>
  new LiveSession(held, place, await held.store.learned(held.agent.name));

export async function warmUp(held: HeldRun, place: SessionPlace): Promise<void> {
  if (held.warm.has(place.session)) return;
  const live = await newSession(held, place);
  held.warm.set(place.session, live);
  await live.open(undefined);
}

/** The session that was started ahead, or a new one. */
export async function takeWarm(held: HeldRun, place: SessionPlace, resumes: boolean): Promise<LiveSession> {
  const warm = resumes ? undefined : held.warm.get(place.session);
  if (!(warm instanceof LiveSession)) return newSession(held, place);
  held.warm.delete(place.session);
  return warm;
}

export async function coolDown(held: HeldRun, phase?: string): Promise<void> {
  for (const [session, live] of held.warm) {
    if (phase !== undefined && live.phase !== phase) continue;
    held.warm.delete(session);
    await live.close();
  }
}
