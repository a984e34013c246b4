/** What the run waits for, and until when. */
import { conclude, type Decision } from "./decision.js";
import { revisions } from "./ending.js";
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import { hasAgent, type PhaseState } from "./phase.js";
import { openQuestions } from "./questions.js";
import type { RunState } from "./state.js";

/** Nothing new is begun. */
export const isResting = (state: RunState): boolean =>
  state.stopping !== undefined || state.hold !== undefined || state.halted || state.limit !== undefined;

/** Until when a phase's next session is put off. */
export function waitsUntil({ now }: RunState, phase: PhaseState): string | undefined {
  if (!hasAgent(phase)) return undefined;
  const { notBefore } = phase.attempt.trouble;
  return phase.next.type === "session" && notBefore !== undefined && notBefore > now ? notBefore : undefined;
}

/** The next moment at which time alone changes what is to be done. */
export function wakeAt(state: RunState): string | undefined {
  if (state.status !== "running") return undefined;
  const moments = [...openQuestions(state), ...revisions(state)].map(({ until }) => until);
  if (state.limit !== undefined && state.stopping === undefined) moments.push(state.limit.until);
  if (!isResting(state))
    for (const id of state.readiness.underWay) {
      const phase = state.phases.get(id);
      const moment = phase === undefined ? undefined : waitsUntil(state, phase);
      if (moment !== undefined) moments.push(moment);
    }
  return moments.sort()[0];
}

/** What the clock says about a usage limit, before anything else. */
export function decideLimit({ limit, now, config, stopping }: RunState): Decision | undefined {
  if (limit === undefined) return undefined;
  if (limit.until <= now) return conclude({ type: "limit-lifted" });
  if (config.on_usage_limit !== "stop" || stopping !== undefined) return undefined;
  return conclude({ type: "stop-requested", by: "a usage limit (on_usage_limit: stop)", cause: "usage-limit" });
}

export function limitReached(state: Folding, { until, message }: FactOf<"limit-reached">): void {
  state.limit = { until, message, times: (state.limit?.times ?? 0) + 1 };
}
