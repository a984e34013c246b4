/** Makes this process the holder of a run, or says who is. */
import type { Lock, Store } from "../store/store.js";
import { bad, good, type Result } from "./failure.js";

export async function holdRun(store: Store, run: string): Promise<Result<Lock>> {
  const locked = await store.lock(run);
  if (locked.ok) return good(locked.lock);
  const { pid, host, since, run: other } = locked.holder;
  return bad({ type: "held", what: locked.what, pid, host, since, run: other });
}
