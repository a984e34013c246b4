/**
 * What to do now, from the state alone: never from the last event, so that a resumed run decides like one that was
 * never interrupted. Anything in flight is left to finish. Each machine decides in its own file.
 *
 * Invariants
 * 1. A phase starts only when all its dependencies are done, and at most `parallel` are under way at once.
 * 2. A phase has at most one command in flight, and at most one session that is not ended.
 * 3. No phase uses more sessions, idle handovers or remediations than its limits allow.
 * 4. At most one merge is under way per target.
 */
import { decideWork } from "./after-session.js";
import { budgetStop } from "./budget.js";
import { decideLimits } from "./choosing.js";
import { commandId } from "./command.js";
import { commit, decideCommitted } from "./committing.js";
import { conclude, type Decision } from "./decision.js";
import { revisions } from "./ending.js";
import { decideMerging, type TrainsTaken } from "./merging.js";
import { type PhaseState, revise } from "./phase.js";
import { type Asked, answerOverdue, ask, openQuestions } from "./questions.js";
import { isSatisfied, phasesDone } from "./readiness.js";
import { decideParts } from "./splitting.js";
import { checkoutIsTaken, startPhase, startReady, waitsForCheckout } from "./starting.js";
import type { RunState } from "./state.js";
import { decideVerification } from "./verification.js";
import { isResting, wakeAt } from "./waits.js";

export function decide(state: RunState): Decision[] {
  if (state.status !== "running") return [];
  const overdue = answerOverdue(state);
  if (overdue.length > 0) return overdue;
  const limited = decideLimits(state) ?? decideBudget(state);
  if (limited !== undefined) return [limited];
  const asked = askToGoOn(state) ?? askAboutHead(state);
  if (asked?.type === "asks") return [asked.decision];
  const busy = new Set([...state.inFlight.values()].map((command) => command.phase));
  const asking = new Set(openQuestions(state).map((question) => question.phase));
  const rests = isResting(state) || asked?.type === "waits" || checkoutIsTaken(state);
  const decisions = [...state.readiness.failed].flatMap((id) => (busy.has(id) ? [] : decideFailed(state, id)));
  const taken: TrainsTaken = new Set();
  const askedOfPart = new Set(decisions.flatMap((decision) => wholeAskedAbout(state, decision)));
  for (const id of inOrder(state, state.readiness.underWay)) {
    const phase = state.phases.get(id);
    if (phase === undefined || busy.has(id) || askedOfPart.has(id) || (rests && beginsWork(phase))) continue;
    if (waitsForCheckout(state, id, phase, asking)) continue;
    decisions.push(...decidePhase(state, id, phase, taken));
  }
  if (!rests) decisions.push(...startReady(state, busy, asking));
  if (decisions.length > 0 || state.inFlight.size > 0) return decisions;
  return concludeRun(state);
}

/** The phase of whose parts somebody is asked about one now: what becomes of the whole waits for the answer. */
function wholeAskedAbout({ parents }: RunState, decision: Decision): string[] {
  if (decision.type !== "conclude" || decision.fact.type !== "question-asked") return [];
  const whole = parents.get(decision.fact.phase);
  return whole === undefined ? [] : [whole];
}

const inOrder = ({ readiness }: RunState, ids: Iterable<string>): string[] =>
  [...ids].sort((a, b) => (readiness.order.get(a) ?? 0) - (readiness.order.get(b) ?? 0));

function decidePhase(state: RunState, id: string, phase: PhaseState, taken: TrainsTaken): Decision[] {
  switch (phase.step) {
    case "waiting":
    case "starting":
      return [startPhase(state, id, phase.number)];
    case "working":
    case "remediating":
    case "reviewing":
      return some(decideWork(state, id, phase));
    case "verifying":
      return some(decideVerification(state, id, phase, taken));
    case "committing":
      return [decideCommitted(id, phase)];
    case "merging":
      return some(decideMerging(state, id, phase, taken));
    case "split":
      return decideParts(state, id, phase);
    case "done":
    case "skipped":
    case "failed":
      return [];
    default:
      return phase satisfies never;
  }
}

const some = (decision: Decision | undefined): Decision[] => (decision === undefined ? [] : [decision]);

/** What a stopping or paused run leaves for later: everything that has not begun yet. */
function beginsWork(phase: PhaseState): boolean {
  switch (phase.step) {
    case "waiting":
    case "starting":
    case "verifying":
      return true;
    case "merging":
      return phase.attempt.train.merged === undefined;
    case "working":
    case "remediating":
    case "reviewing":
      return phase.next.type === "session";
    default:
      return false;
  }
}

function decideBudget(state: RunState): Decision | undefined {
  const stop = budgetStop(state);
  return stop === undefined ? undefined : conclude(stop);
}

/** What a failed phase left is committed, or not, as the user wants; somebody who can be asked is asked. */
function decideFailed(state: RunState, id: string): Decision[] {
  const phase = state.phases.get(id);
  if (phase?.step !== "failed") return [];
  const { last, failure, settled } = phase;
  if (last !== undefined && !settled) return [commit(id, revise(last, "commits", { failure: undefined }), "failed")];
  if (!state.attended || state.stopping !== undefined) return [];
  const tried =
    last === undefined ? "" : ` Tried: ${last.progress.sessions.length} sessions, ${last.repairs.count} repairs.`;
  const asked = ask(state, {
    kind: "failure",
    id: commandId(id, last?.number ?? 0, "failure"),
    phase: id,
    text: `Phase ${id} failed (${failure.category}). ${failure.message}${tried}`,
  });
  return asked.type === "asks" ? [asked.decision] : [];
}

/** After every so many phases a person says whether to go on. */
function askToGoOn(state: RunState): Asked | undefined {
  const { checkpoint_every: every } = state.config;
  if (every === 0) return undefined;
  const { done, total } = phasesDone(state);
  if (done === 0 || done % every !== 0 || done === total || state.stopping !== undefined) return undefined;
  if (state.readiness.underWay.size > 0) return undefined;
  const phase = state.plan.phases.findLast(({ id }) => state.phases.get(id)?.step === "done")?.id ?? "";
  const text = `${done} of ${total} phases are done. Go on?`;
  const asked = ask(state, { kind: "checkpoint", id: `every/${done}`, phase, text });
  // Once it is answered there may be something else to ask.
  return asked.type === "answered" ? undefined : asked;
}

/** Somebody moved HEAD to where the run's own commits are not: only a person knows whether that was meant. */
function askAboutHead(state: RunState): Asked | undefined {
  const { headMoved, head, plan } = state;
  if (headMoved === undefined || state.stopping !== undefined) return undefined;
  if (openQuestions(state).some(({ kind }) => kind === "head")) return { type: "waits" };
  return ask(state, {
    kind: "head",
    id: `head/${headMoved.slice(0, 12)}/${state.seq}`,
    phase: plan.phases[0]?.id ?? "",
    text: `HEAD was moved from ${head.slice(0, 9)} to ${headMoved.slice(0, 9)}, which does not contain the run's commits. Go on from there?`,
  });
}

function concludeRun(state: RunState): Decision[] {
  const { readiness, phases } = state;
  if (readiness.satisfied === phases.size) return [conclude({ type: "run-completed" })];
  const canGoOn = readiness.underWay.size > 0 || readiness.ready.length > 0;
  // Whatever is waited for, a person included: a resume asks again.
  const isAwaited = openQuestions(state).length + revisions(state).length > 0;
  const stops = state.stopping !== undefined && (canGoOn || isAwaited);
  const { stopping } = state;
  const why = stopping === undefined || stopping.cause === "asked" ? "asked to stop" : stopping.by;
  if (stops) return [conclude({ type: "run-stopped", why })];
  // Paused, with an idle session or with nothing begun: someone will say when it goes on.
  if (canGoOn && state.hold !== undefined) return [];
  if (wakeAt(state) !== undefined) return [];
  const open = [...phases].filter(([, phase]) => !isSatisfied(phase)).map(([id]) => id);
  return [conclude({ type: "run-failed", phases: open })];
}
