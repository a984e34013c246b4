/** What the run waits for, and until when. */
import { openQuestions, type PhaseState, type RunState } from "./state.js";

/** Nothing new is begun. */
export const isResting = (state: RunState): boolean =>
  state.stopping || state.hold !== undefined || state.halted || state.limit !== undefined;

/** Until when a phase's next session is put off. */
export function waitsUntil({ now }: RunState, phase: PhaseState): string | undefined {
  if (phase.step !== "working" && phase.step !== "remediating" && phase.step !== "reviewing") return undefined;
  const { next, notBefore } = phase;
  return next.type === "session" && notBefore !== undefined && notBefore > now ? notBefore : undefined;
}

/** The next moment at which time alone changes what is to be done. */
export function wakeAt(state: RunState): string | undefined {
  if (state.status !== "running") return undefined;
  const moments = openQuestions(state).map((question) => question.until);
  if (state.limit !== undefined && !state.stopping) moments.push(state.limit.until);
  if (!isResting(state))
    for (const phase of state.phases.values()) moments.push(...[waitsUntil(state, phase) ?? []].flat());
  return moments.sort()[0];
}
