/**
 * Starts the agent of the session that will follow while the old one writes its checkpoint: most of a handover is the
 * start of a process. It gets its prompt only when its session begins; one that never does is closed with its phase.
 */

import type { Chosen } from "../run/choosing.js";
import type { HeldRun } from "./held-run.js";
import { LiveSession, type SessionPlace } from "./live-session.js";

async function newSession(held: HeldRun, place: SessionPlace, { agent: name, model }: Chosen): Promise<LiveSession> {
  const agent = held.crew.of(name);
  return new LiveSession(held, place, { agent, model, learned: await held.store.learned(agent.name) });
}

export async function warmUp(held: HeldRun, place: SessionPlace, who: Chosen): Promise<void> {
  if (held.warm.has(place.session)) return;
  const live = await newSession(held, place, who);
  held.warm.set(place.session, live);
  await live.open(undefined);
}

/** The session that was started ahead, or a new one. */
export async function takeWarm(
  held: HeldRun,
  place: SessionPlace,
  who: Chosen,
  resumes: boolean,
): Promise<LiveSession> {
  const warm = held.warm.get(place.session);
  held.warm.delete(place.session);
  if (warm instanceof LiveSession && !resumes && warm.isOf(who)) return warm;
  await warm?.close();
  return newSession(held, place, who);
}

export async function coolDown(held: HeldRun, phase?: string): Promise<void> {
  for (const [session, live] of held.warm) {
    if (phase !== undefined && live.phase !== phase) continue;
    held.warm.delete(session);
    await live.close();
  }
}
