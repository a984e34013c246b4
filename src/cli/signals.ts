/**
 * Once: finish the running tool, save a checkpoint, stop. Twice: end now. A closed terminal counts as once. They are
 * listened to before the run begins, so that one that comes early is not lost.
 */
import { sweep } from "../agents/processes.js";
import type { HeldRun } from "../engine/held-run.js";
import { isOfRun } from "../engine/marker.js";
import { EXIT } from "./exit.js";
import { outliveReader } from "./output.js";

const SWEEP_MS = 5_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface Signals {
  /** Says that one came before the run began. */
  early: AbortSignal;
  /** From now on a signal stops this run; so does one that came before. */
  conducting(held: HeldRun): void;
}

export function listenToSignals(): Signals {
  let asked: NodeJS.Signals | undefined;
  let held: HeldRun | undefined;
  const early = new AbortController();
  const stop = () => {
    if (held === undefined) early.abort();
    if (held === undefined || asked === undefined || held.run.state.status !== "running") return;
    held.run.append({ type: "stop-requested", by: asked, cause: "asked" });
  };
  const endNow = async () => {
    // Whatever hangs, this ends.
    setTimeout(() => process.exit(EXIT.interrupted), SWEEP_MS).unref();
    if (held !== undefined) await sweep(isOfRun(held.run.state.run));
    process.exit(EXIT.interrupted);
  };
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // From whichever face the first came.
      const again = asked !== undefined || held?.run.state.stopping?.cause === "asked";
      asked = signal;
      if (!again) stop();
      else if (signal !== "SIGHUP") void endNow();
    });
  }
  // Whoever read our output may be gone with the terminal; the run still ends cleanly.
  outliveReader();
  return {
    early: early.signal,
    conducting: (started) => {
      held = started;
      held.endNow = () => void endNow();
      stop();
    },
  };
}
