/** When an agent that tries again by itself is told that it is enough. */
import type { FailedKind } from "./event.js";

/** Trying again a refused login, or a model that is not there, changes nothing. */
const HOPELESS: ReadonlySet<FailedKind> = new Set(["auth", "model"]);
const TRIES = 2;
/** More than any agent needs that ends by itself. */
const MOST_TRIES = 15;

export const givesUp = ({ attempt, kind }: { attempt: number; kind: FailedKind }): boolean =>
  attempt >= (HOPELESS.has(kind) ? TRIES : MOST_TRIES);
