/**
 * A phase that goes round in circles.
 *
 *   noticed 1 ─▶ goes on · noticed 2 … ─▶ its session is ended, the next one waits twice as long each time
 *            └─ a task finished ─▶ 0        └─ stuck_limit reached ─▶ failed(stuck)
 *
 * What is noticed inside a session comes from whoever watches its tool calls; that a whole session left nothing is
 * noticed here.
 */
import { conclude, type Decision, failPhase } from "./decision.js";
import type { Fact, FactOf, RunEvent, StuckKind } from "./event.js";
import type { Folding } from "./folding.js";
import { type Attempt, changeAttempt, isAttempted, revise } from "./phase.js";
import { withRefusals } from "./refusals.js";
import type { RunState } from "./state.js";

export interface Circle {
  kind: StuckKind;
  text: string;
}

interface Whose {
  phase: string;
  attempt: number;
  session: string;
}

const noticed = (place: Whose, { kind, text }: Circle, before: number): Fact => ({
  type: "stuck-noticed",
  ...place,
  kind,
  evidence: text,
  count: before + 1,
});

/** At a boundary: what is to be said of what was seen, and whether it ends the session. */
export function circlesAtBoundary(
  { config, phases }: RunState,
  place: Whose,
  seen: Circle | undefined,
): { fact: Fact; ends: boolean } | undefined {
  const phase = phases.get(place.phase);
  if (seen === undefined || config.stuck_limit === 0 || !isAttempted(phase)) return undefined;
  const { circles } = phase.attempt.trouble;
  return { fact: noticed(place, seen, circles), ends: circles > 0 };
}

/** Before a session begins: an empty one before it is noticed first, and ends the phase when that was too often. */
export function circlesBetweenSessions(state: RunState, id: string, attempt: Attempt): Decision | undefined {
  const { stuck_limit: limit } = state.config;
  const { circles, emptySession } = attempt.trouble;
  if (limit === 0) return undefined;
  if (emptySession !== undefined) {
    const text = "a whole session between two handovers left no report, no decision and no change";
    const place = { phase: id, attempt: attempt.number, session: emptySession };
    return conclude(noticed(place, { kind: "empty-session", text }, circles));
  }
  if (circles < limit) return undefined;
  const failure = {
    category: "stuck",
    message: `Phase ${id} went round in circles ${circles} times without finishing a task (stuck_limit: ${limit}). Split it, or say in its text how to get on.`,
    recommendation: "split",
  } as const;
  return failPhase(id, attempt.number, withRefusals(state, attempt, failure));
}

export function stuckNoticed(state: Folding, event: FactOf<"stuck-noticed"> & RunEvent): void {
  const { stuck_backoff_seconds } = state.config;
  const waits = event.count < 2 ? 0 : stuck_backoff_seconds * 2 ** (event.count - 2);
  const notBefore = waits === 0 ? undefined : new Date(Date.parse(event.at) + waits * 1_000).toISOString();
  changeAttempt(state, event.phase, (attempt) =>
    revise(attempt, "trouble", { circles: event.count, emptySession: undefined, notBefore }),
  );
}
