/** Drives a run to its end with everything around it: the warden, the door, the clock, and at the end nothing left behind. */
import { takeBaseline } from "../git/start.js";
import type { RunStatus } from "../run/state.js";
import { watchClock } from "./clock.js";
import { type Door, openDoor } from "./door.js";
import { learnFrom } from "./forecasting.js";
import { runGatesBefore } from "./gates-before.js";
import { handOffStopped } from "./handoff.js";
import type { HeldRun } from "./held-run.js";
import { decideAndPerform } from "./loop.js";
import { startNotifying } from "./notify.js";
import { postWarden } from "./warden.js";
import { coolDown } from "./warm.js";

/** `opened` is told where the run can be watched and steered. */
export async function conductRun(held: HeldRun, opened: (door: Door) => void = () => {}): Promise<RunStatus> {
  const warden = postWarden(held.run.state.run);
  held.warden = warden;
  const door = await openDoor(held);
  held.door = door;
  opened(door);
  const clock = watchClock(held, { wall: Date.now, monotonic: () => performance.now() });
  learnFrom(held);
  const notices = startNotifying(held);
  try {
    await runGatesBefore(held);
    const status = await decideAndPerform(held);
    if (status === "stopped") await handOffStopped(held);
    if (status !== "completed") await noteTree(held);
    return status;
  } finally {
    clock.stop();
    await notices.settle();
    await door.close();
    await coolDown(held);
    for (const session of held.sessions.values()) await session.close();
    warden.dismiss();
    await held.run.close();
    held.lock.release();
  }
}

/** Remembers the working tree as the run leaves it, so that what the user edits before a resume is known as theirs. */
async function noteTree({ run, git }: HeldRun): Promise<void> {
  const name = `rest-${run.state.seq}`;
  const noted = await takeBaseline(git, run.state.run, name).catch(() => undefined);
  if (noted !== undefined) await run.record({ type: "tree-noted", tree: noted.baseline });
}
