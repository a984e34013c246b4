/** What the run waits for, and until when. */
import { revisions } from "./ending.js";
import { hasAgent, type PhaseState } from "./phase.js";
import { openQuestions } from "./questions.js";
import type { RunState } from "./state.js";

/** Nothing new is begun. */
export const isResting = (state: RunState): boolean =>
  state.stopping !== undefined || state.hold !== undefined || state.halted;

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
  if (state.stopping === undefined) moments.push(...[...state.away.values()].flatMap(({ until }) => until ?? []));
  if (!isResting(state))
    for (const id of state.readiness.underWay) {
      const phase = state.phases.get(id);
      const moment = phase === undefined ? undefined : waitsUntil(state, phase);
      if (moment !== undefined) moments.push(moment);
    }
  return moments.sort()[0];
}
