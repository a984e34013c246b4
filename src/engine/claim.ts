/** The two locks of a run: on its journal, and on the checkout it works in. */
import { type Holder, type Lock, takeLock } from "../store/lock.js";
import { bad, good, type Result } from "./failure.js";
import { runFolder, segnoFolder } from "./runs.js";

export const RUN_LOCK = "lock";
const CHECKOUT_LOCK = "checkout-lock";

export function claimRun(top: string, run: string): Result<Lock> {
  const now = new Date();
  const own = takeLock(runFolder(top, run), RUN_LOCK, run, now);
  if (!own.ok) return held("run", own.holder);
  const checkout = takeLock(segnoFolder(top), CHECKOUT_LOCK, run, now);
  if (!checkout.ok) {
    own.lock.release();
    return held("checkout", checkout.holder);
  }
  return good({
    release: () => {
      checkout.lock.release();
      own.lock.release();
    },
  });
}

const held = (what: "run" | "checkout", { pid, host, since, run }: Holder) =>
  bad({ type: "held", what, pid, host, since, run });
