/** When an agent that tries again by itself is told that it is enough. */
import type { FailedKind } from "./event.js";

/** Trying again a refused login, or a model that is not there, changes nothing. A limit is the run's to wait out. */
const TRIES: Partial<Record<FailedKind, number>> = { auth: 2, model: 2, limit: 1 };
/** More than any agent needs that ends by itself. */
const MOST_TRIES = 15;

export const givesUp = ({ attempt, kind }: { attempt: number; kind: FailedKind }): boolean =>
  attempt >= (TRIES[kind] ?? MOST_TRIES);
