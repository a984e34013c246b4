/** While a usage limit holds the run: how long still. At a terminal a line that counts down, elsewhere one now and then. */
import type { HeldRun } from "../engine/held-run.js";
import { clock } from "../view/numbers.js";
import { waitsFor } from "../view/status.js";
import { isTerminal } from "./ask.js";

const SECOND = 1_000;
const NOW_AND_THEN = 10 * 60 * SECOND;

export function countDown({ run }: HeldRun, json: boolean): { stop(): void } {
  if (json) return { stop: () => {} };
  const live = isTerminal(json);
  let shown = false;
  const timer = setInterval(
    () => {
      const limit = waitsFor(run.state);
      if (limit === undefined) {
        if (shown && live) process.stdout.write("\r\u001b[K");
        shown = false;
        return;
      }
      shown = true;
      const left = `waiting for the usage limit: ${clock(Date.parse(limit.until) - Date.now())} left`;
      if (live) process.stdout.write(`\r\u001b[K${left}`);
      else console.log(left);
    },
    live ? SECOND : NOW_AND_THEN,
  );
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
