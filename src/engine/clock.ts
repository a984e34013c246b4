/** Notices that time passed which nobody worked in: a laptop that slept. The monotonic clock stands still in it. */
import type { HeldRun } from "./held-run.js";

const EVERY_MS = 5_000;
const WORTH_TELLING_MS = 30_000;

export interface Clocks {
  wall(): number;
  monotonic(): number;
}

/** Milliseconds by which the wall clock ran ahead between two looks. */
export const jumpBetween = (
  before: { wall: number; monotonic: number },
  now: { wall: number; monotonic: number },
): number => now.wall - before.wall - (now.monotonic - before.monotonic);

export function watchClock({ run }: HeldRun, clocks: Clocks): { stop(): void } {
  const look = () => ({ wall: clocks.wall(), monotonic: clocks.monotonic() });
  let last = look();
  const timer = setInterval(() => {
    const now = look();
    const jump = jumpBetween(last, now);
    last = now;
    if (Math.abs(jump) >= WORTH_TELLING_MS)
      void run.record({ type: "clock-jumped", seconds: Math.round(jump / 1000) }).catch(() => {});
  }, EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
