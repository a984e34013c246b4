/** When an agent that tries again by itself is told that it is enough. */
import type { FailedKind } from "./event.js";
import { isAttempted } from "./phase.js";
import type { RunState } from "./state.js";

/** Trying again a refused login, or a model that is not there, changes nothing. A limit is the run's to wait out. */
const TRIES: Partial<Record<FailedKind, number>> = { auth: 2, model: 2, limit: 1 };
/** More than any agent needs that ends by itself. */
const MOST_TRIES = 15;

export const givesUp = ({ attempt, kind }: { attempt: number; kind: FailedKind }): boolean =>
  attempt >= (TRIES[kind] ?? MOST_TRIES);

/** Whether nobody waits for a session any more that only waits itself: what could be handed over is in git and the ledger. */
export function isCalledOff({ stopping, phases, team }: RunState, id: string): boolean {
  const phase = phases.get(id);
  const skips = isAttempted(phase) && phase.attempt.skipping;
  return stopping !== undefined || skips || team?.holdings.get(id)?.leaving === true;
}
