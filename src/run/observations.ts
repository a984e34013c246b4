import type { FactType } from "./event.js";

/** What is seen, as opposed to what is decided: nothing is decided anew because of it. */
export const OBSERVATIONS: ReadonlySet<FactType> = new Set([
  "call-made",
  "tool-finished",
  "session-ready",
  "window-known",
  "compaction-blocked",
  "tool-refused",
  "run-taken",
  "phase-taken",
  "phase-leaving",
  "phase-let-go",
]);
