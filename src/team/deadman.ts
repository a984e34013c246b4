/**
 * Beside each phase that a worker holds: ends the phase's agents by itself when the lease was not renewed in time, whatever
 * became of the worker. A stopped process renews nothing and knows nothing of it, so this is a process of its own.
 *
 * It hears on its standard input when the last renewal that succeeded was sent, as milliseconds of the wall clock. The wall
 * clock counts on while a machine sleeps, the other one cannot be set: whichever says first that it is over counts.
 */
import { sweep } from "../agents/processes.js";

const LOOKS_EVERY_MS = 100;

function guard(prefix: string, patienceMs: number): void {
  const isOurs = (marker: string): boolean => marker.startsWith(prefix);
  let untilWall = Date.now() + patienceMs;
  let until = performance.now() + patienceMs;
  let over = false;
  const end = async (): Promise<void> => {
    if (over) return;
    over = true;
    clearInterval(timer);
    await sweep(isOurs);
    // What was being started in that moment shows itself only now.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await sweep(isOurs);
    process.exit(0);
  };
  const isOver = (): boolean => Date.now() > untilWall || performance.now() > until;
  const timer = setInterval(() => {
    // What it was told while it did not get to run is heard first.
    if (isOver()) setImmediate(() => isOver() && void end());
  }, LOOKS_EVERY_MS);
  let text = "";
  process.stdin.on("data", (data) => {
    const lines = (text + String(data)).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "dismissed") process.exit(0);
      const age = Math.max(0, Date.now() - Number(line));
      untilWall = Date.now() - age + patienceMs;
      until = performance.now() - age + patienceMs;
    }
  });
  // The worker is gone.
  process.stdin.on("end", () => void end());
}

const [, , prefix = "", patience = ""] = process.argv;
if (prefix !== "" && Number(patience) > 0) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  guard(prefix, Number(patience));
}
