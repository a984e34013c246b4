/** What counts when a run is taken up again: what is said now; but what it found out for itself when it began holds. */
import type { Config } from "../config/schema.js";

export function configToResume(now: Config, before: Config): Config {
  const gates = now.project_gates;
  return {
    ...now,
    permission_mode: now.permission_mode ?? before.permission_mode,
    project_gates: Object.keys(gates).length > 0 ? gates : (before.project_gates ?? {}),
    tag: now.tag ?? before.tag,
  };
}
