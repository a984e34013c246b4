/** Who may begin: as many of the phases that wait only for their turn as there is room for. */
import { DEFAULT_WINDOW } from "../context/meter.js";
import { handoversOn, limitsOf, thresholdTokens } from "../context/policy.js";
import { whoWorks } from "./choosing.js";
import { commandId } from "./command.js";
import { conclude, type Decision, perform } from "./decision.js";
import { filesOfBoth } from "./ownership.js";
import type { PhaseState } from "./phase.js";
import { type Asked, anew, ask, contextQuestionText, openQuestions } from "./questions.js";
import { phasesDone } from "./readiness.js";
import type { RunState } from "./state.js";

/** Begins what is ready, as far as there is room; `busy`: phases with a command in flight, `asking`: with an open question. */
export function startReady(state: RunState, busy: ReadonlySet<string>, asking: ReadonlySet<string>): Decision[] {
  const { readiness, parents, config } = state;
  const decisions: Decision[] = [];
  const underWay = new Set(readiness.underWay);
  let room = state.parallel - active(state, asking);
  const partsRoom = new Map<string, number>();
  for (const id of underWay) {
    const parent = parents.get(id);
    if (state.phases.get(id)?.step === "split") partsRoom.set(id, partsRoom.get(id) ?? config.split_parallel);
    if (parent !== undefined) partsRoom.set(parent, (partsRoom.get(parent) ?? config.split_parallel) - 1);
  }
  for (const id of readiness.ready) {
    const parent = parents.get(id);
    if (room <= 0 && partsRoom.size === 0) break;
    const phase = state.phases.get(id);
    if (phase?.step !== "waiting" || busy.has(id)) continue;
    if (parent === undefined ? room <= 0 : (partsRoom.get(parent) ?? 0) <= 0) continue;
    // One whose agent is away would only take a place.
    if (whoWorks(state, id, "work") === undefined) continue;
    const behind = heldFrom(state, id, underWay);
    if (behind !== undefined) {
      if (!state.serialised.has(id)) decisions.push(conclude({ type: "phase-serialised", phase: id, ...behind }));
      continue;
    }
    if (parent === undefined) room--;
    else partsRoom.set(parent, (partsRoom.get(parent) ?? 0) - 1);
    const asked = parent === undefined ? askBeforePhase(state, id, phase.number) : undefined;
    if (asked?.type === "waits") continue;
    underWay.add(id);
    decisions.push(asked?.type === "asks" ? asked.decision : startPhase(state, id, phase.number));
  }
  return decisions;
}

export const startPhase = ({ inWorktrees, parents }: RunState, id: string, attempt: number): Decision =>
  perform({
    type: "start-phase",
    id: commandId(id, attempt, "start"),
    phase: id,
    attempt,
    ...(inWorktrees || parents.has(id) ? { apart: true } : {}),
  });

/** A phase under way that names the same files. */
function heldFrom(
  { readiness, parents }: RunState,
  id: string,
  underWay: ReadonlySet<string>,
): { behind: string; files: string[] } | undefined {
  const phase = readiness.planned.get(id);
  if (phase === undefined || phase.files.length === 0) return undefined;
  const own = new Set<string>();
  for (let parent = parents.get(id); parent !== undefined; parent = parents.get(parent)) own.add(parent);
  for (const other of underWay) {
    const planned = own.has(other) ? undefined : readiness.planned.get(other);
    const files = planned === undefined ? [] : filesOfBoth(phase, planned);
    if (files.length > 0) return { behind: other, files };
  }
  return undefined;
}

/** Its work is committed, and it waits for a person or for its turn. */
const isSettled = (phase: PhaseState): phase is Extract<PhaseState, { step: "verifying" }> =>
  phase.step === "verifying" && (phase.attempt.commits.settled || phase.attempt.train.merge !== undefined);

/** How many other phases are being worked on. */
function active({ phases, readiness, parents }: RunState, asking: ReadonlySet<string>, but?: string): number {
  let count = 0;
  for (const id of readiness.underWay) {
    const phase = phases.get(id);
    if (id === but || phase === undefined || parents.has(id)) continue;
    if (isSettled(phase) && (asking.has(id) || (but !== undefined && phase.attempt.commits.settled))) continue;
    count++;
  }
  return count;
}

/** A phase that a person answered for goes on only when nobody else works in the checkout. */
export const waitsForCheckout = (
  state: RunState,
  id: string,
  phase: PhaseState,
  asking: ReadonlySet<string>,
): boolean =>
  (isSettled(phase) || bringsBack(phase)) &&
  phase.attempt.origin.worktree === undefined &&
  active(state, asking, id) >= state.parallel;

/** A person accepted it: its commit, with what was set aside, needs the checkout for itself. */
const bringsBack = (phase: PhaseState): phase is Extract<PhaseState, { step: "committing" }> =>
  phase.step === "committing" && !phase.committed && phase.attempt.judged.accepted;

/** In a shared checkout, what a failed phase left is settled, and asked about, before another begins. */
export function checkoutIsTaken(state: RunState): boolean {
  if (state.inWorktrees) return false;
  const settling = [...state.readiness.failed].some((id) => {
    const phase = state.phases.get(id);
    return phase?.step === "failed" && phase.last !== undefined && !phase.settled;
  });
  return settling || openQuestions(state).some(({ kind, phase }) => kind === "failure" && isInTheWay(state, phase));
}

/** What it left could not be set aside. */
function isInTheWay({ phases }: RunState, id: string): boolean {
  const phase = phases.get(id);
  return phase?.step === "failed" && !phase.cleared;
}

/** Under `ask`, a phase that is expected to cross the limit is asked about before it begins. */
function askBeforePhase(state: RunState, id: string, attempt: number): Asked | undefined {
  const expected = state.forecast.get(id);
  const { config } = state;
  if (config.context_policy !== "ask" || !handoversOn(config) || expected === undefined) return undefined;
  const window = config.context_limit ?? DEFAULT_WINDOW;
  const limit = Math.round(thresholdTokens(config, limitsOf(window)));
  if (state.contextAnswer !== undefined || expected.context < limit) return undefined;
  const about = { tokens: expected.context, limit, phases: phasesDone(state), expected: true };
  return ask(state, {
    kind: "before-phase",
    id: commandId(id, attempt, "before", anew(state)),
    phase: id,
    text: contextQuestionText(id, about),
  });
}
