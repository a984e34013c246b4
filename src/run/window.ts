/** The window that the run's sessions have, as far as one was seen. */
import type { RunState } from "./state.js";

export function windowSeen({ sessions, config }: Pick<RunState, "sessions" | "config">): number | undefined {
  let seen: number | undefined;
  for (const { window } of sessions.values()) if (window > 0) seen = window;
  const { context_limit: limit } = config;
  return seen === undefined || limit === undefined ? (seen ?? limit) : Math.min(seen, limit);
}
