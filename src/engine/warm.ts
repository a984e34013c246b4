/**
 * Starts the agent of the session that will follow while the old one writes its checkpoint: most of a handover is the
 * start of a process. It gets its prompt only when its session begins; one that never does is closed with its phase.
 */
import { LiveSession, type Place } from "./live-session.js";
import type { World } from "./world.js";

const newSession = async (world: World, place: Place): Promise<LiveSession> =>
  new LiveSession(world, place, await world.store.learned(world.agent.name));

export async function warmUp(world: World, place: Place): Promise<void> {
  if (world.warm.has(place.session)) return;
  const live = await newSession(world, place);
  world.warm.set(place.session, live);
  await live.open(undefined);
}

/** The session that was started ahead, or a new one. */
export async function takeWarm(world: World, place: Place, resumes: boolean): Promise<LiveSession> {
  const warm = resumes ? undefined : world.warm.get(place.session);
  if (!(warm instanceof LiveSession)) return newSession(world, place);
  world.warm.delete(place.session);
  return warm;
}

export async function coolDown(world: World, phase?: string): Promise<void> {
  for (const [session, live] of world.warm) {
    if (phase !== undefined && live.phase !== phase) continue;
    world.warm.delete(session);
    await live.close();
  }
}
