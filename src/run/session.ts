/**
 * The session: one conversation with one agent.
 *
 *   starting ─▶ turning ─▶ idle ─ stopped at a boundary ─▶ checkpointing ─▶ idle ─▶ ended(reason)
 *                 ▲          ├─ no result yet: one nudge ──┐
 *                 └──────────┼──────────────────────────────┘
 *                            └─ result, or nothing more to ask ─▶ ended(reason)
 *
 * What follows its end, for its phase, is in `after-session.ts`.
 */
import { whoWorks } from "./choosing.js";
import { type Command, commandId, type Purpose, type SessionEnd, type TurnKind } from "./command.js";
import { type Decision, perform } from "./decision.js";
import type { CriterionVerdict, FactOf, FailedKind, RunEvent, StopWhy, TurnEnd, Usage } from "./event.js";
import { failingIn, issuesOf } from "./failing.js";
import type { Folding } from "./folding.js";
import type { PhaseResult } from "./outcome.js";
import {
  type Attempted,
  changeAttempt,
  changePhase,
  HUMAN,
  isAttempted,
  type PhaseState,
  revise,
  type WithAgent,
} from "./phase.js";
import { ask, contextQuestionText, mayGoOnAbove } from "./questions.js";
import { phasesDone } from "./readiness.js";
import type { RunState } from "./state.js";
import { addUsage } from "./usage.js";

interface SessionFacts {
  id: string;
  phase: string;
  attempt: number;
  purpose: Purpose;
  agent: string;
  /** Of a repair: how many things failed when it began. */
  issues: number;
  /** As the agent reported them; unknown until it is ready. */
  model: string | undefined;
  agentSession: string | undefined;
  window: number;
  /** All that its model takes, also where the configuration caps it. */
  whole: number;
  compactAt: number | undefined;
  /** What Segno said at its start. */
  promptTokens: number;
  /** Tokens in its window after its last call, when that was, and the prompt of its first. */
  lastTokens: number;
  lastAt: string | undefined;
  firstPrompt: number | undefined;
  /** By how much its calls' prompts were above the first, summed. */
  carried: number;
  /** What its first call and its checkpoint turn used. */
  firstCall: Usage | undefined;
  checkpointUsage: Usage | undefined;
  /** Tokens it read before it wrote anything, if it went on from a checkpoint. */
  reread: number | undefined;
  /** Where it was last stopped by the context policy. */
  boundary: { tokens: number; threshold: number; why: StopWhy; ends: SessionEnd | undefined } | undefined;
  usage: Usage;
  calls: number;
  /** Prompts it was given. */
  turns: number;
  peakPercent: number;
  /** Reports and decisions that came of it. */
  reports: number;
  nudged: boolean;
  checkpointed: boolean;
  /** A person said that it may go on above the threshold. */
  continued: boolean;
  result: PhaseResult | undefined;
  verdicts: CriterionVerdict[] | undefined;
}

export type SessionState =
  | ({ step: "starting" } & SessionFacts)
  | ({ step: "turning"; turn: Exclude<TurnKind, "checkpoint"> } & SessionFacts)
  | ({ step: "checkpointing" } & SessionFacts)
  | ({ step: "idle"; end: TurnEnd; turn: TurnKind } & SessionFacts)
  | ({ step: "ended"; reason: SessionEnd; message: string | undefined; end: TurnEnd | undefined } & SessionFacts);

const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };

const NOTHING_YET = {
  issues: 0,
  model: undefined,
  agentSession: undefined,
  window: 0,
  whole: 0,
  compactAt: undefined,
  promptTokens: 0,
  lastTokens: 0,
  lastAt: undefined,
  firstPrompt: undefined,
  carried: 0,
  firstCall: undefined,
  checkpointUsage: undefined,
  reread: undefined,
  boundary: undefined,
  usage: NO_USAGE,
  calls: 0,
  turns: 0,
  peakPercent: 0,
  reports: 0,
  nudged: false,
  checkpointed: false,
  continued: false,
  result: undefined,
  verdicts: undefined,
};

/** Changes a session that has not ended; what comes later than its end changes nothing. */
export function changeSession(
  state: Folding,
  { session: id }: { session: string },
  change: (session: SessionState) => SessionState,
): void {
  const session = state.sessions.get(id);
  if (session !== undefined && session.step !== "ended") state.sessions.set(id, change(session));
}

/** It is about to begin: from here on its phase is what the session is for. */
export function sessionIssued(state: Folding, command: Extract<Command, { type: "start-session" }>): void {
  const { session: id, phase, attempt, purpose } = command;
  const before = state.phases.get(phase);
  const failing = before?.step === "verifying" ? failingIn(before.attempt, before.results) : [];
  const issues = purpose === "remediate" ? issuesOf(failing) : 0;
  const agent = command.agent ?? state.config.agent;
  // What is spread comes first: V8 then copies it whole, and every later change of the session, too.
  state.sessions.set(id, { ...NOTHING_YET, step: "starting", id, phase, attempt, purpose, agent, issues });
  changePhase(state, phase, (before) => withSession(before, id, purpose));
}

function withSession(phase: Attempted, session: string, purpose: Purpose): PhaseState {
  const { progress } = phase.attempt;
  const begun = revise(phase.attempt, "progress", {
    sessions: [...progress.sessions, session],
    tasksAtSessionStart: progress.tasksDone.length,
  });
  const attempt = revise(begun, "commits", { settled: false });
  const next = { type: "running", session } as const;
  switch (purpose) {
    case "work":
      return { step: "working", attempt, next };
    case "verify":
      return { step: "reviewing", attempt, next, results: "results" in phase ? phase.results : [] };
    case "remediate":
    case "merge": {
      if (phase.step !== "verifying")
        return { step: "remediating", attempt, next, failing: phase.step === "remediating" ? phase.failing : [] };
      const failing = failingIn(phase.attempt, phase.results);
      return {
        step: "remediating",
        attempt: repairing(
          attempt,
          failing.map(({ gate }) => gate),
        ),
        next,
        failing,
      };
    }
    default:
      return purpose satisfies never;
  }
}

/** A repair begins: what failed this time is remembered, and everything is looked at again after it. */
function repairing(attempt: Attempted["attempt"], failing: string[]): Attempted["attempt"] {
  const { count, failures } = attempt.repairs;
  const begun = revise(attempt, "repairs", { count: count + 1, failures: [...failures, failing] });
  // In a merged state the phase itself was judged already; what is repaired there is another state.
  const { merge } = attempt.train;
  if (merge !== undefined) return revise(begun, "train", { merge: { ...merge, candidate: undefined } });
  // What a person refused, they are shown again.
  const human = failing.includes(HUMAN) ? attempt.judged.human : undefined;
  return revise(begun, "judged", { inspected: undefined, reviewed: undefined, human });
}

export function turnStarted(state: Folding, event: FactOf<"turn-started">): void {
  changeSession(state, event, (session) => {
    const turns = session.turns + 1;
    if (event.turn === "checkpoint") return { ...session, turns, step: "checkpointing", checkpointed: true };
    const nudged = session.nudged || event.turn === "nudge";
    return { ...session, turns, step: "turning", turn: event.turn, nudged };
  });
}

export function turnEnded(state: Folding, event: FactOf<"turn-ended">): void {
  changeSession(state, event, (session) => ({ ...session, step: "idle", end: event.end, turn: turnOf(session) }));
}

function turnOf(session: SessionState): TurnKind {
  if (session.step === "checkpointing") return "checkpoint";
  return session.step === "turning" || session.step === "idle" ? session.turn : "work";
}

export function callMade(state: Folding, event: FactOf<"call-made"> & RunEvent): void {
  const { usage, subagent, reading, cost } = event;
  const { input, cacheRead, cacheWrite, output } = usage;
  const prompt = input + cacheRead + cacheWrite;
  const { spent } = state;
  state.spent = {
    tokens: spent.tokens + prompt + output,
    cost: spent.cost === undefined || cost === undefined ? undefined : spent.cost + cost,
  };
  changeSession(state, event, (session) => {
    const used = addUsage(session.usage, usage);
    if (subagent) return { ...session, usage: used };
    const { checkpointUsage, step } = session;
    const firstPrompt = session.firstPrompt ?? prompt;
    // One by one: with so many keys twice as fast as in one literal, and this is folded most often of all.
    const next = { ...session };
    next.usage = used;
    next.calls++;
    next.firstPrompt = firstPrompt;
    next.carried += Math.max(0, prompt - firstPrompt);
    if (session.calls === 0) next.firstCall = usage;
    if (step === "checkpointing") next.checkpointUsage = addUsage(checkpointUsage ?? NO_USAGE, usage);
    next.lastTokens = reading.tokens;
    next.lastAt = event.at;
    next.peakPercent = Math.max(session.peakPercent, reading.percent);
    return next;
  });
}

export function boundaryDecided(state: Folding, event: FactOf<"boundary-decided">): void {
  const { reading, threshold, why } = event;
  const ends: SessionEnd | undefined =
    why === "stuck" || why === "timeout" ? why : why === "leaving" ? "stopped" : undefined;
  const boundary = { tokens: reading.tokens, threshold, why, ends };
  changeSession(state, event, (session) => ({ ...session, boundary }));
}

export function sessionReady(state: Folding, event: FactOf<"session-ready">): void {
  const { model, agentSession, window, compactAt } = event;
  changeSession(state, event, (session) => ({
    ...session,
    model,
    agentSession,
    window: window ?? session.window,
    whole: window ?? session.whole,
    compactAt: compactAt ?? session.compactAt,
  }));
}

export function windowKnown(state: Folding, event: FactOf<"window-known">): void {
  const { window, whole = window, compactAt } = event;
  changeSession(state, event, (session) => ({ ...session, window, whole, compactAt }));
}

export function progressReported(state: Folding, event: FactOf<"progress-reported">): void {
  reported(state, event);
  const { task } = event;
  if (task === undefined) return;
  changeAttempt(state, event.phase, (attempt) => {
    const { tasksDone } = attempt.progress;
    if (tasksDone.includes(task)) return attempt;
    return revise(revise(attempt, "progress", { tasksDone: [...tasksDone, task] }), "trouble", {
      circles: 0,
      refused: {},
    });
  });
}

/** What it did is not where the next one works: in its conversation the agent would take it for done. */
export function conversationsForgotten(state: Folding, { phase: id }: FactOf<"checkout-remade">): void {
  const phase = state.phases.get(id);
  for (const session of isAttempted(phase) ? phase.attempt.progress.sessions : []) {
    const ended = state.sessions.get(session);
    if (ended?.step === "ended") state.sessions.set(session, { ...ended, agentSession: undefined });
  }
}

/** A report or a decision came of it. */
export const reported = (state: Folding, event: { session: string }): void =>
  changeSession(state, event, (session) => ({ ...session, reports: session.reports + 1 }));

/** A result that names tasks as completed reports them. */
export function resultReported(state: Folding, event: FactOf<"result-reported">): void {
  const { result } = event;
  changeSession(state, event, (session) => ({ ...session, result }));
  if (result.status !== "completed" && result.status !== "needs_human_verification") return;
  const known = state.readiness.planned.get(event.phase)?.tasks.map((task) => task.id) ?? [];
  changeAttempt(state, event.phase, (attempt) => {
    const { tasksDone } = attempt.progress;
    const more = known.filter((task) => result.tasks_completed.includes(task) && !tasksDone.includes(task));
    return more.length === 0 ? attempt : revise(attempt, "progress", { tasksDone: [...tasksDone, ...more] });
  });
}

/** A session that just went idle: ask for a checkpoint, nudge it once, or end it. */
export function decideSession(state: RunState, phase: WithAgent, session: SessionState): Decision | undefined {
  const { stopping, hold } = state;
  if (session.step !== "idle") return undefined;
  const { end } = session;
  if (phase.attempt.skipping) return endWith(session, "skipped");
  // What was handed in counts, however the turn ended after it; a checkpoint turn that failed leaves the ledger.
  if (session.result !== undefined || session.verdicts !== undefined) return endWith(session, "result");
  if (session.checkpointed)
    return endWith(session, stopping !== undefined ? "stopped" : (session.boundary?.ends ?? "handed-over"));
  const continueWith = (turn: Exclude<TurnKind, "work">): Decision => continued(state, phase, session, turn);
  switch (end.type) {
    case "crashed":
      return endWith(session, "crashed");
    // Not its own end: its conversation goes on from there.
    case "called-off":
      return endWith(session, "killed");
    case "timed-out":
      return endWith(session, "timeout");
    case "failed":
      return endWith(session, FAILED_ENDS[end.kind]);
    case "stopped":
      if (end.why === "window-too-small") return endWith(session, "window-too-small");
      if (end.why === "asked" && stopping === undefined) return decideAsked(state, session, continueWith);
      if (end.why !== "paused" || stopping !== undefined) return continueWith("checkpoint");
      return hold === undefined ? continueWith("go-on") : undefined;
    case "too-long":
      return endWith(session, "context-full");
    case "finished":
      if (stopping !== undefined) return continueWith("checkpoint");
      if (hold !== undefined) return undefined;
      return session.nudged ? endWith(session, "no-result") : continueWith("nudge");
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

const endWith = ({ id: session, phase, attempt }: SessionState, reason: SessionEnd): Decision =>
  perform({ type: "end-session", id: `${session}/end`, session, phase, attempt, reason });

function continued(
  state: RunState,
  phase: WithAgent,
  { id: session, phase: of, attempt, turns, agent }: SessionState,
  turn: Exclude<TurnKind, "work">,
): Decision {
  const id = `${session}/turn/${turns + 1}`;
  // After a checkpoint another session follows, unless the run stops: its agent can be started meanwhile.
  const purpose = purposeOf(phase);
  const who = turn !== "checkpoint" || state.stopping !== undefined ? undefined : whoWorks(state, of, purpose, agent);
  const next = who === undefined ? {} : { next: { session: nextSession(of, phase.attempt).session, purpose, ...who } };
  return perform({ type: "continue-session", id, session, phase: of, attempt, turn, ...next });
}

/** What the next session of a phase is called, and its number. */
export function nextSession(phase: string, attempt: Attempted["attempt"]): { session: string; n: number } {
  const n = attempt.progress.sessions.length + 1;
  return { session: commandId(phase, attempt.number, "session", n), n };
}

const PURPOSES = { working: "work", remediating: "remediate", reviewing: "verify" } as const;

/** What a session of the phase is for, as it is now. */
export const purposeOf = ({ step, attempt }: WithAgent): Purpose =>
  attempt.train.merge === undefined ? PURPOSES[step] : "merge";

/** A session that waits at the threshold for a person's word. */
function decideAsked(
  state: RunState,
  session: SessionState,
  continueWith: (turn: "checkpoint" | "go-on") => Decision,
): Decision | undefined {
  switch (mayGoOnAbove(state, { phase: session.phase, session: session.id }) ? "continue" : state.contextAnswer) {
    case "continue":
      return state.hold === undefined ? continueWith("go-on") : undefined;
    case "force":
      return continueWith("checkpoint");
    case undefined: {
      const { tokens, threshold } = session.boundary ?? { tokens: session.lastTokens, threshold: session.window };
      const about = { tokens, limit: threshold, phases: phasesDone(state), expected: false };
      const { phase, id } = session;
      const asked = ask(state, {
        kind: "context",
        id: `${id}/ask`,
        phase,
        session: id,
        text: contextQuestionText(phase, about),
      });
      return asked.type === "asks" ? asked.decision : undefined;
    }
    default:
      return undefined;
  }
}
