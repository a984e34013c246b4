/**
 * Runs that are not over, and that no job is there for: whoever began or resumed one was killed before it was offered, or
 * resumed it while its conductor was ending. Nobody would ever take them.
 */
import type { Machine } from "./machine.js";

/** Offers them, and says which. */
export async function offerOrphans({ queues, store }: Pick<Machine, "queues" | "store">): Promise<string[]> {
  const orphans = await store.openRuns(await queues.runsOffered());
  for (const run of orphans) await queues.ensureRun({ run });
  return orphans;
}
