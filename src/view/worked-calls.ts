/** The calls of a run's phases, for what the same work would have cost otherwise. */
import type { WorkedCall } from "../context/what-if.js";
import type { RunEvent } from "../run/event.js";

export interface WorkedPhase {
  phase: string;
  model: string;
  window: number;
  calls: WorkedCall[];
}

/** Sub-agents' calls are left out: they have windows of their own. */
export function workedPhases(events: Iterable<RunEvent>): WorkedPhase[] {
  const phases = new Map<string, WorkedPhase & { session: string; natural: boolean }>();
  const asked = new Set<string>();
  for (const event of events) {
    if (event.type === "turn-started" && event.turn === "checkpoint") asked.add(event.session);
    if (event.type === "window-known") {
      const known = phases.get(event.phase);
      if (known !== undefined) known.window = event.whole ?? event.window;
    }
    if (event.type === "session-started" && !phases.has(event.phase))
      phases.set(event.phase, { phase: event.phase, model: "", window: 0, calls: [], session: "", natural: false });
    const phase = "phase" in event && event.phase !== undefined ? phases.get(event.phase) : undefined;
    if (phase === undefined) continue;
    if (event.type === "progress-reported" || event.type === "commit-made") phase.natural = true;
    if (event.type !== "call-made" || event.subagent) continue;
    const aside = asked.has(event.session);
    const fresh = !aside && phase.session !== "" && phase.session !== event.session;
    phase.model = event.model;
    phase.calls.push({ usage: event.usage, natural: phase.natural && !aside, compacted: false, fresh, aside });
    if (aside) continue;
    phase.session = event.session;
    phase.natural = false;
  }
  return [...phases.values()]
    .filter(({ calls }) => calls.length > 0)
    .map(({ phase, model, window, calls }) => ({ phase, model, window: window || 200_000, calls }));
}
