/** Drives a run to its end with everything around it: the warden, the door, the clock, and at the end nothing left behind. */
import { takeBaseline } from "../git/start.js";
import type { RunStatus } from "../run/state.js";
import { watchClock } from "./clock.js";
import { type Door, openDoor } from "./door.js";
import { drive } from "./drive.js";
import { learnFrom } from "./forecasting.js";
import { runGatesBefore } from "./gates-before.js";
import { handOffStopped } from "./handoff.js";
import { startNotifying } from "./notify.js";
import { postWarden } from "./warden.js";
import { coolDown } from "./warm.js";
import type { World } from "./world.js";

/** `opened` is told where the run can be watched and steered. */
export async function conductRun(world: World, opened: (door: Door) => void = () => {}): Promise<RunStatus> {
  const warden = postWarden(world.run.state.run);
  world.warden = warden;
  const door = await openDoor(world);
  world.door = door;
  opened(door);
  const clock = watchClock(world, { wall: Date.now, monotonic: () => performance.now() });
  learnFrom(world);
  const notices = startNotifying(world);
  try {
    await runGatesBefore(world);
    const status = await drive(world);
    if (status === "stopped") await handOffStopped(world);
    if (status !== "completed") await noteTree(world);
    return status;
  } finally {
    clock.stop();
    await notices.settle();
    await door.close();
    await coolDown(world);
    for (const session of world.sessions.values()) await session.close();
    warden.dismiss();
    await world.run.close();
    world.lock.release();
  }
}

/** Remembers the working tree as the run leaves it, so that what the user edits before a resume is known as theirs. */
async function noteTree({ run, git }: World): Promise<void> {
  const name = `rest-${run.state.seq}`;
  const noted = await takeBaseline(git, run.state.run, name).catch(() => undefined);
  if (noted !== undefined) await run.record({ type: "tree-noted", tree: noted.baseline });
}
