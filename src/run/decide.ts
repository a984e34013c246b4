/**
 * What to do now, from the state alone: never from the last event, so that a resumed run decides like one that was
 * never interrupted. Anything in flight is left to finish.
 *
 * Invariants
 * 1. A phase starts only when all its dependencies are done, and at most `parallel` are under way at once.
 * 2. A phase has at most one command in flight, and at most one session that is not ended.
 * 3. No phase uses more sessions, idle handovers or remediations than its limits allow.
 */
import { DEFAULT_WINDOW } from "../context/meter.js";
import { handoversOn, LARGE_RESULT, thresholdTokens } from "../context/policy.js";
import { type Command, type CommitKind, commandId, type SessionEnd } from "./command.js";
import type { Fact } from "./event.js";
import type { PhaseFailure } from "./outcome.js";
import { CONTEXT_CHOICES, type ContextQuestion, contextQuestionText, type QuestionKind } from "./question.js";
import {
  type Attempt,
  isOver,
  openQuestions,
  type PhaseState,
  phaseOf,
  type RunState,
  type SessionState,
} from "./state.js";

/** A command to perform, or a conclusion that is a fact as soon as it is drawn. */
export type Decision = { type: "perform"; command: Command } | { type: "conclude"; fact: Fact };

/** The next moment at which time alone changes what is to be done. */
export const wakeAt = (state: RunState): string | undefined =>
  state.status === "running"
    ? [
        ...openQuestions(state).map((question) => question.until),
        ...(resting(state) ? [] : [...state.phases.values()].flatMap((phase) => waitsUntil(state, phase) ?? [])),
      ].sort()[0]
    : undefined;

/** Until when a phase's next session is put off. */
function waitsUntil({ now }: RunState, phase: PhaseState): string | undefined {
  if (phase.step !== "working" && phase.step !== "remediating") return undefined;
  const { next, notBefore } = phase;
  return next.type === "session" && notBefore !== undefined && notBefore > now ? notBefore : undefined;
}

const resting = (state: RunState): boolean => state.stopping || state.hold !== undefined;

export function decide(state: RunState): Decision[] {
  if (state.status !== "running") return [];
  const overdue = openQuestions(state).filter((question) => question.until <= state.now);
  if (overdue.length > 0) {
    return overdue.map(({ id: question, phase, fallback }) => ({
      type: "conclude",
      fact: { type: "question-answered", question, phase, choice: fallback, by: "nobody answered in time" },
    }));
  }
  const busy = new Set([...state.inFlight.values()].map((command) => command.phase));
  const decisions: Decision[] = [];
  // What a failed phase left is settled before another begins in the same checkout.
  const settling = [...state.phases.values()].some(
    (phase) => phase.step === "failed" && phase.attempted !== undefined && !phase.leftCommitted,
  );
  const rests = resting(state) || settling;
  let underWay = [...state.phases.values()].filter(isUnderWay).length;
  for (const { id, dependsOn } of state.plan.phases) {
    const phase = state.phases.get(id);
    if (phase === undefined || busy.has(id)) continue;
    if (phase.step === "failed" && phase.attempted !== undefined && !phase.leftCommitted) {
      decisions.push(commit(id, { ...phase.attempted, commitFailure: undefined }, "failed"));
    }
    if (isOver(phase)) continue;
    if (rests && beginsWork(phase)) continue;
    if (phase.step === "waiting") {
      if (underWay >= state.parallel || !dependsOn.every((other) => isSatisfied(state.phases.get(other)))) continue;
      underWay++;
      const asked = askBeforePhase(state, id, phase.attempt);
      if (asked !== undefined) {
        if (asked !== "waits") decisions.push(asked);
        continue;
      }
    }
    const decision = decidePhase(state, id, phase);
    if (decision !== undefined) decisions.push(decision);
  }
  if (decisions.length > 0 || state.inFlight.size > 0) return decisions;
  return concludeRun(state);
}

const isUnderWay = (phase: PhaseState): boolean => phase.step !== "waiting" && !isOver(phase);

const isSatisfied = (phase: PhaseState | undefined): boolean => phase?.step === "done" || phase?.step === "skipped";

/** What a stopping or paused run leaves for later: everything that has not begun yet. */
function beginsWork(phase: PhaseState): boolean {
  switch (phase.step) {
    case "waiting":
    case "starting":
    case "verifying":
      return true;
    case "working":
    case "remediating":
      return phase.next.type === "session";
    default:
      return false;
  }
}

function concludeRun(state: RunState): Decision[] {
  const phases = [...state.phases.values()];
  const conclude = (fact: Fact): Decision[] => [{ type: "conclude", fact }];
  if (phases.every(isSatisfied)) return conclude({ type: "run-completed" });
  const canGoOn =
    phases.some(isUnderWay) ||
    state.plan.phases.some(({ id, dependsOn }) => {
      return (
        state.phases.get(id)?.step === "waiting" && dependsOn.every((other) => isSatisfied(state.phases.get(other)))
      );
    });
  if (canGoOn && state.stopping) return conclude({ type: "run-stopped", why: "asked to stop" });
  // Paused, with an idle session or with nothing begun: someone will say when it goes on.
  if (canGoOn && state.hold !== undefined) return [];
  if (wakeAt(state) !== undefined) return [];
  const open = [...state.phases].filter(([, phase]) => !isSatisfied(phase)).map(([id]) => id);
  return conclude({ type: "run-failed", phases: open });
}

/** Under `ask`, a phase that is expected to cross the limit is asked about before it begins. */
function askBeforePhase(state: RunState, id: string, attempt: number): Decision | "waits" | undefined {
  const expected = state.forecast.get(id);
  const { config } = state;
  if (config.context_policy !== "ask" || !handoversOn(config) || expected === undefined) return undefined;
  const window = config.context_limit ?? DEFAULT_WINDOW;
  const limit = Math.round(thresholdTokens(config, { window, compactAt: undefined, reserve: 0 }));
  if (state.toldOnContext !== undefined || expected.context < limit) return undefined;
  const question = commandId(id, attempt, "before");
  const phases = phasesDone(state);
  const about = { tokens: expected.context, limit, phases, expected: true };
  return askOnContext(state, question, "before-phase", id, undefined, about);
}

function askOnContext(
  state: RunState,
  question: string,
  kind: QuestionKind,
  phase: string,
  session: string | undefined,
  about: ContextQuestion,
): Decision | "waits" {
  if (state.questions.has(question)) return "waits";
  const { ask_default: fallback, ask_timeout_minutes: minutes } = state.config;
  const text = contextQuestionText(phase, about);
  const choices = CONTEXT_CHOICES;
  return {
    type: "conclude",
    fact: { type: "question-asked", question, kind, phase, session, text, choices, fallback, minutes },
  };
}

function phasesDone({ phases }: RunState): { done: number; total: number } {
  const counted = [...phases.values()].filter((phase) => phase.step !== "skipped");
  return { done: counted.filter((phase) => phase.step === "done").length, total: counted.length };
}

const perform = (command: Command): Decision => ({ type: "perform", command });

function decidePhase(state: RunState, id: string, phase: PhaseState): Decision | undefined {
  switch (phase.step) {
    case "waiting":
    case "starting":
      return perform({
        type: "start-phase",
        id: commandId(id, phase.attempt, "start"),
        phase: id,
        attempt: phase.attempt,
      });
    case "working":
    case "remediating":
      return decideWork(state, id, phase);
    case "verifying":
      return decideVerification(state, id, phase);
    case "committing":
      return decideCommitted(id, phase);
    case "done":
    case "skipped":
    case "failed":
      return undefined;
    default:
      return phase satisfies never;
  }
}

type Working = Extract<PhaseState, { step: "working" | "remediating" }>;

function decideWork(state: RunState, id: string, phase: Working): Decision | undefined {
  const { next } = phase;
  // What a skipped phase did is committed first, like before a handover.
  if (phase.skipping && next.type === "session") return skipPhase(id);
  switch (next.type) {
    case "session":
      if (waitsUntil(state, phase) !== undefined) return undefined;
      return startSession(state, id, phase, phase.step === "remediating" ? "remediate" : "work");
    case "running": {
      const session = state.sessions.get(next.session);
      return session === undefined ? undefined : decideSession(state, phase, session);
    }
    case "handover-commit":
      return decideAfterSession(state, id, phase);
    default:
      return next satisfies never;
  }
}

function startSession(state: RunState, id: string, phase: Attempt, purpose: "work" | "remediate"): Decision {
  const n = phase.sessions.length + 1;
  if (n - phase.sessionsBefore > state.config.max_sessions_per_phase) {
    return failPhase(id, phase.attempt, {
      category: "context_exhaustion",
      message: `Phase ${id} used all ${state.config.max_sessions_per_phase} sessions it may use (max_sessions_per_phase).`,
      recommendation: "split",
    });
  }
  const circles = goesInCircles(state, id, phase);
  if (circles !== undefined) return circles;
  const session = commandId(id, phase.attempt, "session", n);
  const { resumes, opening } = conversationToResume(state, phase);
  return perform({
    type: "start-session",
    id: session,
    session,
    phase: id,
    attempt: phase.attempt,
    purpose,
    n,
    resumes,
    opening,
  });
}

/** A phase that gets nowhere: noticed first, ended when it was noticed too often. */
function goesInCircles({ config }: RunState, id: string, phase: Attempt): Decision | undefined {
  const { stuck_limit: limit } = config;
  if (limit === 0) return undefined;
  if (phase.fruitless !== undefined) {
    const evidence = "a whole session between two handovers left no report, no decision and no change";
    const place = { phase: id, attempt: phase.attempt, session: phase.fruitless };
    const fact = { type: "stuck-noticed", ...place, kind: "empty-session", evidence, count: phase.stuck + 1 } as const;
    return { type: "conclude", fact };
  }
  if (phase.stuck < limit) return undefined;
  return failPhase(id, phase.attempt, {
    category: "stuck",
    message: `Phase ${id} went round in circles ${phase.stuck} times without finishing a task (stuck_limit: ${limit}). Split it, or say in its text how to get on.`,
    recommendation: "split",
  });
}

/**
 * A session that ended with Segno, not by itself, is taken up again in its own conversation: it knows more than the
 * ledger. Where it has no room left to work, it is asked for a checkpoint there.
 */
function conversationToResume(state: RunState, phase: Attempt): { resumes?: string; opening: "work" | "checkpoint" } {
  const session = state.sessions.get(phase.sessions.at(-1) ?? "");
  if (
    session?.step !== "ended" ||
    session.reason !== "killed" ||
    session.result !== undefined ||
    session.checkpointed
  ) {
    return { opening: "work" };
  }
  if (session.agentSession === undefined) return { opening: "work" };
  const { window, compactAt, lastTokens } = session;
  const room = thresholdTokens(state.config, { window, compactAt, reserve: 0 }) - lastTokens;
  const opening = room > LARGE_RESULT || !handoversOn(state.config) ? "work" : "checkpoint";
  return { resumes: session.agentSession, opening };
}

/** A session that just went idle: ask for a checkpoint, nudge it once, or end it. */
function decideSession(state: RunState, phase: Working, session: SessionState): Decision | undefined {
  const { stopping, hold } = state;
  if (session.step !== "idle") return undefined;
  const { end } = session;
  const continueWith = (turn: "nudge" | "checkpoint" | "go-on"): Decision =>
    perform({
      type: "continue-session",
      id: `${session.id}/turn/${session.turns + 1}`,
      session: session.id,
      phase: session.phase,
      attempt: phase.attempt,
      turn,
    });
  const endWith = (reason: SessionEnd): Decision =>
    perform({
      type: "end-session",
      id: `${session.id}/end`,
      session: session.id,
      phase: session.phase,
      attempt: phase.attempt,
      reason,
    });
  if (phase.skipping) return endWith("skipped");
  // What was handed in counts, however the turn ended after it; a checkpoint turn that failed leaves the ledger.
  if (session.result !== undefined) return endWith("result");
  if (session.checkpointed) return endWith(stopping ? "stopped" : session.stuck ? "stuck" : "handed-over");
  if (end.type === "crashed" || end.type === "failed") return endWith("crashed");
  switch (end.type) {
    case "stopped":
      if (end.why === "window-too-small") return endWith("window-too-small");
      if (end.why === "asked" && !stopping) return decideAsked(state, session, continueWith);
      if (end.why !== "paused" || stopping) return continueWith("checkpoint");
      return hold === undefined ? continueWith("go-on") : undefined;
    case "too-long":
      return endWith("context-full");
    case "finished":
      if (stopping) return continueWith("checkpoint");
      if (hold !== undefined) return undefined;
      return session.nudged ? endWith("no-result") : continueWith("nudge");
    default:
      return end satisfies never;
  }
}

/** A session that waits at the threshold for a person's word. */
function decideAsked(
  state: RunState,
  session: SessionState,
  continueWith: (turn: "checkpoint" | "go-on") => Decision,
): Decision | undefined {
  switch (state.toldOnContext) {
    case "continue":
      return state.hold === undefined ? continueWith("go-on") : undefined;
    case "force":
      return continueWith("checkpoint");
    case undefined: {
      const { tokens, threshold } = session.boundary ?? { tokens: session.lastTokens, threshold: session.window };
      const about = { tokens, limit: threshold, phases: phasesDone(state), expected: false };
      const asked = askOnContext(state, `${session.id}/ask`, "context", session.phase, session.id, about);
      return asked === "waits" ? undefined : asked;
    }
    default:
      return state.toldOnContext satisfies never;
  }
}

/** A session ended without a completed phase: commit what it left, then go on or give up. */
function decideAfterSession(state: RunState, id: string, phase: Working): Decision {
  const session = state.sessions.get(phase.sessions.at(-1) ?? "");
  const failure = session?.step === "ended" ? failureAfter(state, id, phase, session) : undefined;
  if (failure !== undefined) return failPhase(id, phase.attempt, failure);
  return commit(id, phase, "handover");
}

function commit(id: string, phase: Attempt, kind: CommitKind): Decision {
  if (phase.commitFailure !== undefined) return failPhase(id, phase.attempt, phase.commitFailure);
  const n = phase.commitsFinished + 1;
  return perform({
    type: "commit",
    id: commandId(id, phase.attempt, "commit", n),
    phase: id,
    attempt: phase.attempt,
    kind,
    n,
  });
}

function failureAfter(
  state: RunState,
  id: string,
  phase: Working,
  session: Extract<SessionState, { step: "ended" }>,
): PhaseFailure | undefined {
  const { reason } = session;
  switch (reason) {
    case "result": {
      const { result } = session;
      if (result?.status === "split_request") {
        const why = result.split_details?.reason ?? result.summary;
        return {
          category: "context_exhaustion",
          message: `The agent asks to split phase ${id}: ${why}. Divide it in the plan, then run again.`,
          recommendation: "split",
        };
      }
      const category =
        result?.status === "needs_human_verification" ? "human_needed" : (result?.failure_category ?? "agent_error");
      return {
        category,
        message: `The agent ended phase ${id} as ${result?.status}: ${result?.summary ?? "no summary"}`,
        recommendation: result?.recommendation ?? "ask",
      };
    }
    case "no-result":
      return {
        category: "agent_error",
        message: `The agent ended phase ${id} without reporting a result, also after it was asked for one.`,
        recommendation: "retry",
      };
    case "window-too-small":
      return {
        category: "context_exhaustion",
        message: `The first prompt of phase ${id} already fills the window up to the threshold: no work fits into it. Raise context_limit or context_threshold, or shorten the phase.`,
        recommendation: "halt",
      };
    case "crashed":
      if (phase.idleHandovers === 0) return undefined;
      return {
        category: "agent_error",
        message: `The agent of phase ${id} ended before it finished a task: ${session.message ?? "it said nothing"}`,
        recommendation: "retry",
      };
    case "handed-over":
    case "context-full":
      if (phase.idleHandovers <= state.config.max_restarts) return undefined;
      return {
        category: "context_exhaustion",
        message: `Phase ${id} was handed over ${phase.idleHandovers} times in a row without finishing a task (max_restarts: ${state.config.max_restarts}). Review the phase or split it.`,
        recommendation: "split",
      };
    case "stuck":
    case "stopped":
    case "skipped":
    case "killed":
      return undefined;
    default:
      return reason satisfies never;
  }
}

function decideVerification(state: RunState, id: string, phase: Extract<PhaseState, { step: "verifying" }>): Decision {
  if (phase.skipping) return skipPhase(id);
  const { gates } = phaseOf(state, id);
  const judged = new Set(phase.results.map((result) => result.gate));
  const gate = gates.find((candidate) => !judged.has(candidate.id));
  const { attempt } = phase;
  if (gate !== undefined) {
    const round = phase.remediations;
    const command = commandId(id, attempt, "gate", `r${round}`, gate.id);
    return perform({ type: "run-gate", id: command, phase: id, attempt, gate: gate.id, round });
  }
  const failing = phase.results.filter((result) => !result.passed);
  if (failing.length === 0 || state.gates === "report") return commit(id, phase, "phase");
  const forPeople = gates.filter((candidate) => candidate.check.type === "manual").map((candidate) => candidate.id);
  if (failing.every((result) => forPeople.includes(result.gate))) {
    return failPhase(id, attempt, {
      category: "human_needed",
      message: `Everything that can be run has passed; a person must look at phase ${id}: ${failing.map((result) => result.name).join(", ")}. Mark it as done in the plan, or leave it out with: segno skip ${id}`,
      recommendation: "ask",
    });
  }
  if (phase.remediations >= state.config.max_remediations) {
    const names = failing.map((result) => `${result.name} (${result.why})`).join(", ");
    const tries = phase.remediations === 0 ? "" : ` after ${phase.remediations} attempts to repair it`;
    return failPhase(id, attempt, {
      category: "gate_failed",
      message: `Phase ${id} is not done: its gates fail${tries}: ${names}.`,
      recommendation: "retry",
    });
  }
  return startSession(state, id, phase, "remediate");
}

function decideCommitted(id: string, phase: Extract<PhaseState, { step: "committing" }>): Decision {
  if (!phase.committed) return commit(id, phase, "phase");
  const verified = phase.results.length > 0 && phase.results.every((result) => result.passed);
  return {
    type: "conclude",
    fact: { type: "phase-done", phase: id, attempt: phase.attempt, verified, tasksDone: phase.tasksDone },
  };
}

const skipPhase = (phase: string): Decision => ({ type: "conclude", fact: { type: "phase-skipped", phase } });

const failPhase = (phase: string, attempt: number, failure: PhaseFailure): Decision => ({
  type: "conclude",
  fact: { type: "phase-failed", phase, attempt, ...failure },
});
