/**
 * What follows a session's end, for its phase: what was done is committed, and then comes the gates' turn, the next
 * session, a wait, or the phase's failure.
 *
 *   running ─ ended ─▶ handover-commit ─ committed ─▶ session ─ not before … ─▶ running
 *      └─ ended with a result ─▶ verifying
 */
import { rereadTokens } from "../context/economy.js";
import { CHECKPOINT_ROOM, handoversOn, LARGE_RESULT, thresholdTokens } from "../context/policy.js";
import { couldRelay, whoWorks } from "./choosing.js";
import { circlesBetweenSessions } from "./circles.js";
import type { Purpose, SessionEnd } from "./command.js";
import { commit } from "./committing.js";
import { conclude, type Decision, failPhase, perform, skipPhase } from "./decision.js";
import type { FactOf, RunEvent } from "./event.js";
import type { Folding } from "./folding.js";
import type { PhaseFailure } from "./outcome.js";
import { type Attempt, changePhase, hasAgent, type PhaseState, revise, verifying, type WithAgent } from "./phase.js";
import { dropQuestionsOf } from "./questions.js";
import { withRefusals } from "./refusals.js";
import { changeSession, decideSession, nextSession, purposeOf, type SessionState } from "./session.js";
import { decideSplit, wantsSplit } from "./splitting.js";
import type { RunState } from "./state.js";
import { waitsUntil } from "./waits.js";

type Ended = FactOf<"session-ended"> & RunEvent;

export function sessionEnded(state: Folding, event: Ended): void {
  dropQuestionsOf(state, event.session);
  const session = state.sessions.get(event.session);
  changeSession(state, event, (current) => ({
    ...current,
    step: "ended",
    reason: event.reason,
    message: event.message,
    end: current.step === "idle" ? current.end : undefined,
  }));
  changePhase(state, event.phase, (phase) => {
    if (!hasAgent(phase) || phase.next.type !== "running" || phase.next.session !== event.session) return phase;
    const taskless = state.readiness.planned.get(event.phase)?.tasks.length === 0;
    const attempt = counted(state, phase.attempt, session, event);
    const backoff = state.config.restart_backoff_seconds ?? 0;
    return followed({ ...phase, attempt }, session, event, { taskless, backoff });
  });
}

/** The phase after a session of its own has ended. */
function followed(
  phase: WithAgent,
  session: SessionState | undefined,
  { reason, session: id, at }: Ended,
  { taskless, backoff }: { taskless: boolean; backoff: number },
): PhaseState {
  const { attempt } = phase;
  const reviews = phase.step === "reviewing";
  if (reviews && session?.verdicts !== undefined)
    return verifying(revise(attempt, "judged", { reviewed: session.verdicts }), phase.results);
  const status = session?.result?.status;
  if (!reviews && reason === "result" && status === "needs_human_verification")
    return verifying(revise(attempt, "judged", { human: session?.result?.summary }));
  // A merged state is judged by its gates alone.
  if (attempt.train.merge !== undefined && status !== undefined && reason !== "skipped") return verifying(attempt);
  // Also when Segno ended right after the result was handed in: it is a fact, and the gates follow.
  if (!reviews && (reason === "result" || reason === "killed") && status === "completed") return verifying(attempt);
  const next = { type: "handover-commit" } as const;
  if (NOT_ITS_OWN.has(reason)) return { ...phase, next };
  const { sessions, sessionsBefore, tasksDone, tasksAtSessionStart, idleHandovers } = attempt.progress;
  // Without tasks to tick, what it reported counts here, and what it changed when that is committed.
  const gotOn = tasksDone.length > tasksAtSessionStart || (taskless && (session?.reports ?? 0) > 0);
  const second = sessions.length - sessionsBefore > 1;
  const emptySession = second && session?.reports === 0 && HANDED_OVER.has(reason) ? id : undefined;
  const count = gotOn ? 0 : idleHandovers + 1;
  const idle = revise(attempt, "progress", { idleHandovers: count });
  const waits = count > 0 && backoff > 0 && HANDED_OVER.has(reason);
  const ms = Math.min(LONGEST_BACKOFF_SECONDS, backoff * 2 ** (count - 1)) * 1_000;
  const notBefore = waits ? new Date(Date.parse(at) + ms).toISOString() : attempt.trouble.notBefore;
  return { ...phase, next, attempt: revise(idle, "trouble", { emptySession, notBefore }) };
}

/** Ends that say nothing about whether the session got on. */
const NOT_ITS_OWN: ReadonlySet<SessionEnd> = new Set(["killed", "stopped", "skipped", "limit", "api-error"]);
const HANDED_OVER: ReadonlySet<SessionEnd> = new Set(["handed-over", "context-full"]);
const LONGEST_BACKOFF_SECONDS = 600;

/** Errors and time-outs in a row, and when the next session may begin. */
function counted(state: Folding, attempt: Attempt, session: SessionState | undefined, event: Ended): Attempt {
  const { lines } = attempt.repairs;
  const repaired = event.lines === undefined ? attempt : revise(attempt, "repairs", { lines: [...lines, event.lines] });
  const { timeouts } = attempt.trouble;
  if (event.reason === "timeout") return revise(repaired, "trouble", { apiErrors: 0, timeouts: timeouts + 1 });
  if (event.reason !== "api-error") return revise(repaired, "trouble", { apiErrors: 0 });
  // A session that got an answer at all begins a new row.
  const apiErrors = (session?.calls ?? 0) > 0 ? 1 : attempt.trouble.apiErrors + 1;
  const seconds = Math.min(LONGEST_BACKOFF_SECONDS, state.config.api_backoff_seconds * 2 ** (apiErrors - 1));
  const waits = seconds * (0.75 + (event.chance ?? 0.5) / 2) * 1_000;
  const notBefore = new Date(Date.parse(event.at) + waits).toISOString();
  return revise(repaired, "trouble", { apiErrors, notBefore });
}

/** What to do about a phase whose agent has the floor, or just lost it. */
export function decideWork(state: RunState, id: string, phase: WithAgent): Decision | undefined {
  const { next } = phase;
  // What a skipped phase did is committed first, like before a handover.
  if (phase.attempt.skipping && next.type === "session") return skipPhase(id);
  switch (next.type) {
    case "session":
      return waitsUntil(state, phase) === undefined ? decideNextSession(state, id, phase) : undefined;
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

/** A session, unless the phase turned out to be too large. */
function decideNextSession(state: RunState, id: string, phase: WithAgent): Decision | undefined {
  const wanted = phase.step === "reviewing" ? undefined : wantsSplit(state, id, phase.attempt);
  if (wanted === undefined) return startSession(state, id, phase.attempt, purposeOf(phase));
  return decideSplit(state, id, phase.attempt, wanted);
}

/** Undefined while whoever should work is away. */
export function startSession(state: RunState, id: string, attempt: Attempt, purpose: Purpose): Decision | undefined {
  const { session, n } = nextSession(id, attempt);
  const most = state.config.max_sessions_per_phase;
  if (n - attempt.progress.sessionsBefore > most) {
    const failure = {
      category: "context_exhaustion",
      message: `Phase ${id} used all ${most} sessions it may use (max_sessions_per_phase).`,
      recommendation: "split",
    } as const;
    return failPhase(id, attempt.number, withRefusals(state, attempt, failure));
  }
  const circles = circlesBetweenSessions(state, id, attempt);
  if (circles !== undefined) return circles;
  const who = whoWorks(state, id, purpose, lastAgent(state, attempt, purpose));
  if (who === undefined) return undefined;
  const { resumes, opening } = conversationToResume(state, attempt, who.agent);
  const place = { session, phase: id, attempt: attempt.number };
  return perform({ type: "start-session", id: session, ...place, purpose, n, ...who, resumes, opening });
}

/**
 * A session that ended with Segno, not by itself, is taken up again in its own conversation: it knows more than the
 * ledger. Where it has no room left to work, it is asked for a checkpoint there. Once its cache is gone, all of it would
 * be paid for anew: then only where a fresh session would need as much.
 */
function conversationToResume(
  state: RunState,
  { progress }: Attempt,
  agent: string,
): { resumes?: string; opening: "work" | "checkpoint" } {
  const { sessions, config } = state;
  const session = sessions.get(progress.sessions.at(-1) ?? "");
  if (session?.step !== "ended" || !GOES_ON_IN_ITS_CONVERSATION.has(session.reason)) return { opening: "work" };
  // Nobody can go on in another's conversation.
  if (session.agent !== agent) return { opening: "work" };
  if (isCold(state, session) && session.lastTokens > freshTokens(state, session)) return { opening: "work" };
  const { agentSession, result, checkpointed, window, whole, compactAt, lastTokens } = session;
  if (agentSession === undefined || result !== undefined || checkpointed) return { opening: "work" };
  const room = thresholdTokens(config, { window, whole, compactAt, reserve: 0 }) - lastTokens;
  // Where its window is not known yet, it has hardly begun.
  const opening = window === 0 || room > LARGE_RESULT || !handoversOn(config) ? "work" : "checkpoint";
  return { resumes: agentSession, opening };
}

/** How long a model's cache of a conversation lives without a call. */
const CACHE_LIFE_MS = 5 * 60_000;

const isCold = ({ now }: RunState, { lastAt }: SessionState): boolean =>
  lastAt !== undefined && Date.parse(now) - Date.parse(lastAt) > CACHE_LIFE_MS;

/** What a fresh session would hold when it is where this one was: both are written to the cache once, at one price. */
function freshTokens({ sessions }: RunState, { firstPrompt = 0, phase }: SessionState): number {
  const rereads = [...sessions.values()].flatMap((other) =>
    other.phase === phase && other.reread !== undefined ? [other.reread] : [],
  );
  return firstPrompt + CHECKPOINT_ROOM / 4 + rereadTokens(rereads);
}

/** Ends that are not the session's own: its conversation knows more than the ledger. */
const GOES_ON_IN_ITS_CONVERSATION: ReadonlySet<SessionEnd> = new Set(["killed", "limit", "api-error"]);

/** Who had the last session of the same kind. */
function lastAgent({ sessions }: RunState, { progress }: Attempt, purpose: Purpose): string | undefined {
  const judges = purpose === "verify";
  return progress.sessions.map((id) => sessions.get(id)).findLast((each) => (each?.purpose === "verify") === judges)
    ?.agent;
}

/** An agent that is down, or refused, after which another can go on. */
function decideRelay(state: RunState, id: string, phase: WithAgent, session: SessionState): Decision | undefined {
  if (session.step !== "ended" || state.away.has(session.agent)) return undefined;
  const isDown = session.reason === "api-error" && phase.attempt.trouble.apiErrors > state.config.api_retries;
  if (!isDown && session.reason !== "refused") return undefined;
  if (!couldRelay(state, id, session.purpose, session.agent)) return undefined;
  const until = isDown ? new Date(Date.parse(state.now) + DOWN_MS).toISOString() : undefined;
  const message = session.message ?? "it said nothing";
  const why = isDown ? "down" : "refused";
  return conclude({ type: "agent-away", agent: session.agent, phase: id, why, message, until });
}

/** After how long one that was down is tried again. */
const DOWN_MS = 60 * 60_000;

/** A session ended without a completed phase: commit what it left, then go on or give up. */
function decideAfterSession(state: RunState, id: string, phase: WithAgent): Decision {
  const session = state.sessions.get(phase.attempt.progress.sessions.at(-1) ?? "");
  const relay = session === undefined ? undefined : decideRelay(state, id, phase, session);
  if (relay !== undefined) return relay;
  const failure = session?.step === "ended" ? failureAfter(state, id, phase, session) : undefined;
  if (failure !== undefined) return failPhase(id, phase.attempt.number, withRefusals(state, phase.attempt, failure));
  return commit(id, phase.attempt, "handover");
}

function failureAfter(
  state: RunState,
  id: string,
  { step, attempt }: WithAgent,
  session: Extract<SessionState, { step: "ended" }>,
): PhaseFailure | undefined {
  const { reason, result } = session;
  const { config } = state;
  const { idleHandovers } = attempt.progress;
  const { apiErrors, timeouts } = attempt.trouble;
  const said = session.message ?? "it said nothing";
  // Another goes on.
  const relays = state.away.has(session.agent) && couldRelay(state, id, session.purpose, session.agent);
  if (relays && (reason === "api-error" || reason === "refused")) return undefined;
  switch (reason) {
    case "result":
      // What it did so far is committed first; then the split is decided.
      if (result?.status === "split_request") return undefined;
      return {
        category: result?.failure_category ?? "agent_error",
        message: `The agent ended phase ${id} as ${result?.status}: ${result?.summary ?? "no summary"}`,
        recommendation: result?.recommendation ?? "ask",
      };
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
      if (idleHandovers === 0) return undefined;
      return {
        category: "agent_error",
        message: `The agent of phase ${id} ended before it finished a task: ${said}`,
        recommendation: "retry",
      };
    case "handed-over":
    case "context-full":
      if (idleHandovers <= config.max_restarts) return undefined;
      if (step === "working" && wantsSplit(state, id, attempt) !== undefined) return undefined;
      return {
        category: "context_exhaustion",
        message: `Phase ${id} was handed over ${idleHandovers} times in a row without finishing a task (max_restarts: ${config.max_restarts}). Review the phase or split it.`,
        recommendation: "split",
      };
    case "api-error":
      if (apiErrors <= config.api_retries) return undefined;
      return {
        category: "agent_error",
        message: `The API failed ${apiErrors} times in a row in phase ${id} (api_retries: ${config.api_retries}): ${said}`,
        recommendation: "retry",
      };
    case "refused":
      return {
        category: "agent_error",
        message: `The API refuses to work: ${said}. Check the login, the account and the model, then: segno resume ${state.run}`,
        recommendation: "halt",
      };
    case "timeout":
      if (session.boundary?.why === "timeout") {
        return {
          category: "timeout",
          message: `Phase ${id} took longer than ${config.phase_timeout_minutes} minutes (phase_timeout_minutes).`,
          recommendation: "split",
        };
      }
      if (timeouts <= config.max_timeouts) return undefined;
      return {
        category: "timeout",
        message: `Sessions of phase ${id} were ended ${timeouts} times because nothing happened (max_timeouts: ${config.max_timeouts}): ${session.message ?? ""}`,
        recommendation: "retry",
      };
    case "limit":
    case "stuck":
    case "stopped":
    case "skipped":
    case "killed":
      return undefined;
    default:
      return reason satisfies never;
  }
}
