/** Makes this process the holder of a run, or says who is. */
import type { Lock, Store } from "../store/store.js";
import { bad, good, type Result } from "./failure.js";

export async function holdRun(store: Store, run: string): Promise<Result<Lock>> {
  const claimed = await store.claim(run);
  if (claimed.ok) return good(claimed.lock);
  const { pid, host, since, run: other } = claimed.holder;
  return bad({ type: "held", what: claimed.what, pid, host, since, run: other });
}
