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
import { budgetReached } from "./budget.js";
import { type CommitKind, commandId, type Purpose, type SessionEnd } from "./command.js";
import { conclude, type Decision, failPhase, perform, skipPhase } from "./decision.js";
import type { FailedKind } from "./event.js";
import { decideMerging } from "./merging.js";
import type { PhaseFailure } from "./outcome.js";
import { claimedByBoth } from "./ownership.js";
import {
  CONTEXT_CHOICES,
  type ContextQuestion,
  contextQuestionText,
  FAILURE_CHOICES,
  GO_ON_CHOICES,
  type QuestionKind,
} from "./question.js";
import { isSatisfied } from "./roster.js";
import { decideParts, decideSplit, wantsSplit } from "./splitting.js";
import { type Attempt, openQuestions, type PhaseState, type RunState, type SessionState } from "./state.js";
import { verify } from "./verification.js";
import { isResting, waitsUntil, wakeAt } from "./waits.js";

export function decide(state: RunState): Decision[] {
  if (state.status !== "running") return [];
  const overdue = openQuestions(state).filter((question) => question.until <= state.now);
  if (overdue.length > 0) {
    return overdue.map(({ id: question, phase, fallback }) =>
      conclude({ type: "question-answered", question, phase, choice: fallback, by: "nobody answered in time" }),
    );
  }
  const timely = decideTime(state);
  if (timely !== undefined) return [timely];
  const every = askToGoOn(state) ?? askAboutHead(state);
  if (every !== undefined && every !== "waits") return [every];
  const busy = new Set([...state.inFlight.values()].map((command) => command.phase));
  const asking = new Set(openQuestions(state).map((question) => question.phase));
  const decisions = [...state.roster.failed].flatMap((id) => (busy.has(id) ? [] : decideFailed(state, id)));
  const rests = isResting(state) || every === "waits" || occupied(state);
  for (const id of inOrder(state, state.roster.underWay)) {
    const phase = state.phases.get(id);
    if (phase === undefined || busy.has(id) || (rests && beginsWork(phase))) continue;
    // A phase that a person answered for goes on only when nobody else works in the checkout.
    if (isSettled(phase) && phase.worktree === undefined && active(state, asking, id) >= state.parallel) continue;
    decisions.push(...decidePhase(state, id, phase));
  }
  if (!rests) decisions.push(...startReady(state, busy, asking));
  if (decisions.length > 0 || state.inFlight.size > 0) return decisions;
  return concludeRun(state);
}

const inOrder = ({ roster }: RunState, ids: Iterable<string>): string[] =>
  [...ids].sort((a, b) => (roster.order.get(a) ?? 0) - (roster.order.get(b) ?? 0));

/** In a shared checkout, what a failed phase left is settled, and asked about, before another begins. */
function occupied(state: RunState): boolean {
  if (state.apart) return false;
  const settling = [...state.roster.failed].some((id) => {
    const phase = state.phases.get(id);
    return phase?.step === "failed" && phase.attempted !== undefined && !phase.leftCommitted;
  });
  return settling || openQuestions(state).some((question) => question.kind === "failure");
}

function decideFailed(state: RunState, id: string): Decision[] {
  const phase = state.phases.get(id);
  if (phase?.step !== "failed") return [];
  if (phase.attempted !== undefined && !phase.leftCommitted)
    return [commit(id, { ...phase.attempted, commitFailure: undefined }, "failed")];
  if (!state.attended || state.stopping) return [];
  const asked = askAfterFailure(state, id, phase);
  return asked === undefined ? [] : [asked];
}

/** Begins as many of the phases that wait only for their turn as there is room for. */
function startReady(state: RunState, busy: ReadonlySet<string>, asking: ReadonlySet<string>): Decision[] {
  const { roster, parents, config } = state;
  const decisions: Decision[] = [];
  const underWay = new Set(roster.underWay);
  let room = state.parallel - active(state, asking);
  const partsRoom = new Map<string, number>();
  for (const id of underWay) {
    const parent = parents.get(id);
    if (state.phases.get(id)?.step === "split") partsRoom.set(id, partsRoom.get(id) ?? config.split_parallel);
    if (parent !== undefined) partsRoom.set(parent, (partsRoom.get(parent) ?? config.split_parallel) - 1);
  }
  for (const id of roster.ready) {
    const parent = parents.get(id);
    if (room <= 0 && partsRoom.size === 0) break;
    const phase = state.phases.get(id);
    if (phase?.step !== "waiting" || busy.has(id)) continue;
    if (parent === undefined ? room <= 0 : (partsRoom.get(parent) ?? 0) <= 0) continue;
    const behind = claimedBy(state, id, underWay);
    if (behind !== undefined) {
      if (!state.serialised.has(id)) decisions.push(conclude({ type: "phase-serialised", phase: id, ...behind }));
      continue;
    }
    if (parent === undefined) room--;
    else partsRoom.set(parent, (partsRoom.get(parent) ?? 0) - 1);
    const asked = parent === undefined ? askBeforePhase(state, id, phase.attempt) : undefined;
    if (asked === "waits") continue;
    underWay.add(id);
    decisions.push(asked ?? startPhase(state, id, phase.attempt));
  }
  return decisions;
}

/** A phase under way that claims the same files. */
function claimedBy(
  { roster, parents }: RunState,
  id: string,
  underWay: ReadonlySet<string>,
): { behind: string; files: string[] } | undefined {
  const phase = roster.planned.get(id);
  if (phase === undefined || phase.files.length === 0) return undefined;
  const own = new Set<string>();
  for (let parent = parents.get(id); parent !== undefined; parent = parents.get(parent)) own.add(parent);
  for (const other of underWay) {
    const planned = own.has(other) ? undefined : roster.planned.get(other);
    const files = planned === undefined ? [] : claimedByBoth(phase, planned);
    if (files.length > 0) return { behind: other, files };
  }
  return undefined;
}

const startPhase = ({ apart, parents }: RunState, id: string, attempt: number): Decision =>
  perform({
    type: "start-phase",
    id: commandId(id, attempt, "start"),
    phase: id,
    attempt,
    ...(apart || parents.has(id) ? { apart: true } : {}),
  });

/** What time, a limit or the budget decides before anything else. */
function decideTime(state: RunState): Decision | undefined {
  const { limit, now, config } = state;
  if (limit !== undefined && limit.until <= now) return conclude({ type: "limit-lifted" });
  if (limit !== undefined && config.on_usage_limit === "stop" && !state.stopping)
    return conclude({ type: "stop-requested", by: "a usage limit (on_usage_limit: stop)" });
  const reached = budgetReached(state);
  if (reached !== undefined && !state.stopping && state.inFlight.size === 0)
    return conclude({ type: "stop-requested", by: `the run's budget (${reached.name}: ${reached.words})` });
  return undefined;
}

/** After every so many phases a person says whether to go on. */
function askToGoOn(state: RunState): Decision | "waits" | undefined {
  const { checkpoint_every: every, ask_timeout_minutes: minutes } = state.config;
  if (every === 0) return undefined;
  const { done, total } = phasesDone(state);
  if (done === 0 || done % every !== 0 || done === total || state.stopping) return undefined;
  if (state.roster.underWay.size > 0) return undefined;
  const question = `every/${done}`;
  const known = state.questions.get(question);
  if (known !== undefined) return known.answer === undefined ? "waits" : undefined;
  const phase = state.plan.phases.findLast(({ id }) => state.phases.get(id)?.step === "done")?.id ?? "";
  const text = `${done} of ${total} phases are done. Go on?`;
  const choices = GO_ON_CHOICES;
  return {
    type: "conclude",
    fact: { type: "question-asked", question, kind: "checkpoint", phase, text, choices, fallback: "stop", minutes },
  };
}

/** Somebody moved HEAD to where the run's own commits are not: only a person knows whether that was meant. */
function askAboutHead(state: RunState): Decision | "waits" | undefined {
  const { headMoved, head, config, plan } = state;
  if (headMoved === undefined || state.stopping) return undefined;
  const question = `head/${headMoved.slice(0, 12)}/${state.seq}`;
  const known = [...state.questions.values()].find(({ kind, answer }) => kind === "head" && answer === undefined);
  if (known !== undefined) return "waits";
  const text = `HEAD was moved from ${head.slice(0, 9)} to ${headMoved.slice(0, 9)}, which does not contain the run's commits. Go on from there?`;
  const { ask_timeout_minutes: minutes } = config;
  const choices = GO_ON_CHOICES;
  const phase = plan.phases[0]?.id ?? "";
  return {
    type: "conclude",
    fact: { type: "question-asked", question, kind: "head", phase, text, choices, fallback: "stop", minutes },
  };
}

/** At a terminal: what failed, what was tried, and what to do about it. */
function askAfterFailure(
  state: RunState,
  id: string,
  { failure, attempted }: Extract<PhaseState, { step: "failed" }>,
): Decision | undefined {
  const question = commandId(id, attempted?.attempt ?? 0, "failure");
  if (state.questions.has(question)) return undefined;
  const tried =
    attempted === undefined ? "" : ` Tried: ${attempted.sessions.length} sessions, ${attempted.remediations} repairs.`;
  const text = `Phase ${id} failed (${failure.category}). ${failure.message}${tried}`;
  const { ask_timeout_minutes: minutes } = state.config;
  const choices = FAILURE_CHOICES;
  return {
    type: "conclude",
    fact: { type: "question-asked", question, kind: "failure", phase: id, text, choices, fallback: "leave", minutes },
  };
}

/** Its work is committed, and it waits for a person or for its turn. */
const isSettled = (phase: PhaseState): phase is Extract<PhaseState, { step: "verifying" }> =>
  phase.step === "verifying" && (phase.settled || phase.merge !== undefined);

/** How many other phases are being worked on. */
function active({ phases, roster, parents }: RunState, asking: ReadonlySet<string>, but?: string): number {
  let count = 0;
  for (const id of roster.underWay) {
    const phase = phases.get(id);
    if (id === but || phase === undefined || parents.has(id)) continue;
    if (isSettled(phase) && (asking.has(id) || (but !== undefined && phase.settled))) continue;
    count++;
  }
  return count;
}

/** What a stopping or paused run leaves for later: everything that has not begun yet. */
function beginsWork(phase: PhaseState): boolean {
  switch (phase.step) {
    case "waiting":
    case "starting":
    case "verifying":
      return true;
    case "merging":
      return phase.merged === undefined;
    case "working":
    case "remediating":
    case "reviewing":
      return phase.next.type === "session";
    default:
      return false;
  }
}

function concludeRun(state: RunState): Decision[] {
  const { roster, phases } = state;
  if (roster.satisfied === phases.size) return [conclude({ type: "run-completed" })];
  const canGoOn = roster.underWay.size > 0 || roster.ready.length > 0;
  if (canGoOn && state.stopping) return [conclude({ type: "run-stopped", why: "asked to stop" })];
  // Paused, with an idle session or with nothing begun: someone will say when it goes on.
  if (canGoOn && state.hold !== undefined) return [];
  if (wakeAt(state) !== undefined) return [];
  const open = [...phases].filter(([, phase]) => !isSatisfied(phase)).map(([id]) => id);
  return [conclude({ type: "run-failed", phases: open })];
}

/** Under `ask`, a phase that is expected to cross the limit is asked about before it begins. */
function askBeforePhase(state: RunState, id: string, attempt: number): Decision | "waits" | undefined {
  const expected = state.forecast.get(id);
  const { config } = state;
  if (config.context_policy !== "ask" || !handoversOn(config) || expected === undefined) return undefined;
  const window = config.context_limit ?? DEFAULT_WINDOW;
  const limit = Math.round(thresholdTokens(config, { window, compactAt: undefined, reserve: 0 }));
  if (state.toldOnContext !== undefined || expected.context < limit) return undefined;
  const question = commandId(id, attempt, "before", `e${state.epoch}`);
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

function decidePhase(state: RunState, id: string, phase: PhaseState): Decision[] {
  if (phase.step === "split") return decideParts(state, id, phase);
  const decision = decideOne(state, id, phase);
  return decision === undefined ? [] : [decision];
}

function decideOne(state: RunState, id: string, phase: Exclude<PhaseState, { step: "split" }>): Decision | undefined {
  switch (phase.step) {
    case "waiting":
    case "starting":
      return startPhase(state, id, phase.attempt);
    case "working":
    case "remediating":
    case "reviewing":
      return decideWork(state, id, phase);
    case "verifying":
      return decideVerification(state, id, phase);
    case "committing":
      return decideCommitted(id, phase);
    case "merging":
      return decideMerging(state, id, phase);
    case "done":
    case "skipped":
    case "failed":
      return undefined;
    default:
      return phase satisfies never;
  }
}

type Working = Extract<PhaseState, { step: "working" | "remediating" | "reviewing" }>;

const PURPOSES = { working: "work", remediating: "remediate", reviewing: "verify" } as const;

const purposeOf = (phase: Working): Purpose => (phase.merge === undefined ? PURPOSES[phase.step] : "merge");

function decideWork(state: RunState, id: string, phase: Working): Decision | undefined {
  const { next } = phase;
  // What a skipped phase did is committed first, like before a handover.
  if (phase.skipping && next.type === "session") return skipPhase(id);
  switch (next.type) {
    case "session":
      if (waitsUntil(state, phase) !== undefined) return undefined;
      return decideNextSession(state, id, phase);
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
function decideNextSession(state: RunState, id: string, phase: Working): Decision | undefined {
  const wanted = phase.step === "working" ? wantsSplit(state, id, phase) : undefined;
  if (wanted === undefined) return startSession(state, id, phase, purposeOf(phase));
  const decision = decideSplit(state, id, phase, wanted);
  return decision === "waits" ? undefined : decision;
}

function startSession(state: RunState, id: string, phase: Attempt, purpose: Purpose): Decision {
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
    !TAKEN_UP.has(session.reason) ||
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

/** Ends that are not the session's own: its conversation knows more than the ledger. */
const TAKEN_UP: ReadonlySet<SessionEnd> = new Set(["killed", "limit", "api-error"]);

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
  if (session.verdicts !== undefined) return endWith("result");
  if (session.checkpointed) return endWith(stopping ? "stopped" : (session.boundary?.ends ?? "handed-over"));
  switch (end.type) {
    case "crashed":
      return endWith("crashed");
    case "timed-out":
      return endWith("timeout");
    case "failed":
      return endWith(FAILED_ENDS[end.kind]);
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

const FAILED_ENDS: Record<FailedKind, SessionEnd> = {
  api: "api-error",
  limit: "limit",
  auth: "refused",
  model: "refused",
  request: "crashed",
  other: "crashed",
};

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
      // What it did so far is committed first; then the split is decided.
      if (result?.status === "split_request") return undefined;
      return {
        category: result?.failure_category ?? "agent_error",
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
      if (phase.step === "working" && wantsSplit(state, id, phase) !== undefined) return undefined;
      return {
        category: "context_exhaustion",
        message: `Phase ${id} was handed over ${phase.idleHandovers} times in a row without finishing a task (max_restarts: ${state.config.max_restarts}). Review the phase or split it.`,
        recommendation: "split",
      };
    case "api-error":
      if (phase.apiErrors <= state.config.api_retries) return undefined;
      return {
        category: "agent_error",
        message: `The API failed ${phase.apiErrors} times in a row in phase ${id} (api_retries: ${state.config.api_retries}): ${session.message ?? "it said nothing"}`,
        recommendation: "retry",
      };
    case "refused":
      return {
        category: "agent_error",
        message: `The API refuses to work: ${session.message ?? "it said nothing"}. Check the login (claude, or ANTHROPIC_API_KEY), the account and the model, then: segno resume ${state.run}`,
        recommendation: "halt",
      };
    case "timeout":
      if (session.boundary?.why === "timeout") {
        return {
          category: "timeout",
          message: `Phase ${id} took longer than ${state.config.phase_timeout_minutes} minutes (phase_timeout_minutes).`,
          recommendation: "split",
        };
      }
      if (phase.timeouts <= state.config.max_timeouts) return undefined;
      return {
        category: "timeout",
        message: `Sessions of phase ${id} were ended ${phase.timeouts} times because nothing happened (max_timeouts: ${state.config.max_timeouts}): ${session.message ?? ""}`,
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

function decideVerification(
  state: RunState,
  id: string,
  phase: Extract<PhaseState, { step: "verifying" }>,
): Decision | undefined {
  if (phase.skipping) return skipPhase(id);
  const next = verify(state, id, phase);
  switch (next.type) {
    case "perform":
    case "conclude":
      return next;
    case "wait":
      return undefined;
    case "passed":
      return commit(id, phase, phase.merge === undefined ? "phase" : "merge");
    case "split": {
      const decision = decideSplit(state, id, phase, next.wanted);
      return decision === "waits" ? undefined : decision;
    }
    case "settle":
      return commit(id, phase, "handover");
    case "review":
      return startSession(state, id, phase, "verify");
    case "repair":
      return startSession(state, id, phase, phase.merge === undefined ? "remediate" : "merge");
    case "fail":
      return failPhase(id, phase.attempt, next.failure);
    default:
      return next satisfies never;
  }
}

function decideCommitted(id: string, phase: Extract<PhaseState, { step: "committing" }>): Decision {
  if (!phase.committed) return commit(id, phase, phase.merge === undefined ? "phase" : "merge");
  const verified = !phase.accepted && phase.results.length > 0 && phase.results.every((result) => result.passed);
  return {
    type: "conclude",
    fact: { type: "phase-done", phase: id, attempt: phase.attempt, verified, tasksDone: phase.tasksDone },
  };
}
