/**
 * Runs that are not over, and that no job is there for: whoever began or resumed one was killed before it was offered, or
 * resumed it while its conductor was ending. Nobody would ever take them. Whoever is just beginning one is left alone.
 */
import type { Machine } from "./machine.js";

const QUIET_SECONDS = 15;

/** Offers them, and says which. */
export async function offerOrphans(
  { queues, store }: Pick<Machine, "queues" | "store">,
  quietSeconds = QUIET_SECONDS,
): Promise<string[]> {
  const orphans = await store.openRuns(await queues.runsOffered(), quietSeconds);
  for (const run of orphans) await queues.ensureRun({ run });
  return orphans;
}
