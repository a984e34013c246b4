/** Drives a run to its end with everything around it: the warden, the door, the clock, and at the end nothing left behind. */
import type { RunStatus } from "../run/state.js";
import { watchClock } from "./clock.js";
import { openDoor } from "./door.js";
import { drive } from "./drive.js";
import { postWarden } from "./warden.js";
import { coolDown } from "./warm.js";
import type { World } from "./world.js";

export async function conductRun(world: World): Promise<RunStatus> {
  const warden = postWarden(world.run.state.run);
  world.warden = warden;
  const door = await openDoor(world);
  world.door = door;
  const clock = watchClock(world, { wall: Date.now, monotonic: () => performance.now() });
  try {
    return await drive(world);
  } finally {
    clock.stop();
    await door.close();
    await coolDown(world);
    for (const session of world.sessions.values()) await session.close();
    warden.dismiss();
    world.run.close();
    world.lock.release();
  }
}
