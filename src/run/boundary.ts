/**
 * What is said at a boundary, the moment between finished tools and the next call: go on, or stop and why. One list of
 * reasons, in order; the first that speaks counts.
 *
 *   reported ▸ checkpoint turn ▸ skipped ▸ stopped (asked for, or the budget) ▸ its worker leaves ▸ out of time ▸ circles ▸ context ▸ paused
 *
 * Whoever asks appends the facts, and stops the turn if one of them says so.
 */
import { type Economy, handoverCost, rereadTokens } from "../context/economy.js";
import {
  type BoundaryDecision,
  type BoundaryView,
  decideBoundary,
  type Limits,
  type NaturalBoundary,
  thresholdTokens,
} from "../context/policy.js";
import type { Price } from "../context/prices.js";
import type { Reading } from "../context/reading.js";
import { budgetStop } from "./budget.js";
import { type Circle, circlesAtBoundary } from "./circles.js";
import type { Fact, StopWhy } from "./event.js";
import { isAttempted } from "./phase.js";
import { mayGoOnAbove } from "./questions.js";
import type { SessionState } from "./session.js";
import { phaseOf, type RunState } from "./state.js";

/** What whoever runs the session knows of it. */
export interface AtBoundary {
  phase: string;
  attempt: number;
  session: string;
  reading: Reading;
  limits: Limits;
  /** Of a conversation that began here; one that was taken up again begins as full as it was. */
  firstPrompt: number | undefined;
  /** The prompt of its first call, whoever began it. */
  firstSeen: number | undefined;
  growth: number;
  natural: NaturalBoundary | undefined;
  toolCalls: number;
  /** Of the model in use; undefined where it is not known. */
  price: Price | undefined;
  /** What sessions that went on from a checkpoint read again in earlier phases here, newest first. */
  rereadBefore: readonly number[];
  /** What looked like going round in circles since the last boundary. */
  circle: Circle | undefined;
  /** In a checkpoint turn: what it was for was handed in, or refused tools were called too often. */
  checkpointOver: boolean;
}

export interface BoundarySaid {
  /** Undefined: go on. */
  stop: StopWhy | undefined;
  facts: Fact[];
}

type Reason = (state: RunState, at: AtBoundary) => BoundarySaid | undefined;

const GO_ON: BoundarySaid = { stop: undefined, facts: [] };

export function sayAtBoundary(state: RunState, at: AtBoundary): BoundarySaid {
  const facts: Fact[] = [];
  for (const reason of REASONS) {
    const said = reason(state, at);
    if (said === undefined) continue;
    facts.push(...said.facts);
    if (said.stop !== undefined || said === GO_ON) return { stop: said.stop, facts };
  }
  return { stop: undefined, facts };
}

const sessionOf = ({ sessions }: RunState, { session }: AtBoundary): SessionState | undefined => sessions.get(session);

const reported: Reason = (state, at) => {
  const session = sessionOf(state, at);
  const handedIn = session?.result !== undefined || session?.verdicts !== undefined;
  return handedIn ? { stop: "reported", facts: [] } : undefined;
};

const checkpointTurn: Reason = (state, at) => {
  if (sessionOf(state, at)?.step !== "checkpointing") return undefined;
  return at.checkpointOver ? { stop: "reported", facts: [] } : GO_ON;
};

const skipped: Reason = (state, at) => {
  const phase = state.phases.get(at.phase);
  return isAttempted(phase) && phase.attempt.skipping ? stopped(state, at, "skipped", "asked for") : undefined;
};

const stopRequested: Reason = (state, at) => {
  const budget = budgetStop(state);
  if (budget === undefined && state.stopping === undefined) return undefined;
  const said = stopped(state, at, "stop-requested", "asked for");
  return budget === undefined ? said : { ...said, facts: [budget, ...said.facts] };
};

/** Another machine goes on from the checkpoint. */
const leaving: Reason = (state, at) =>
  state.team?.holdings.get(at.phase)?.leaving === true
    ? stopped(state, at, "leaving", "its worker hands it on")
    : undefined;

/** Time in which nobody worked on the run does not count. */
const outOfTime: Reason = (state, at) => {
  const phase = state.phases.get(at.phase);
  if (!isAttempted(phase)) return undefined;
  const { startedAt, atRestBefore } = phase.attempt;
  const worked = Date.parse(state.now) - Date.parse(startedAt) - (state.atRest - atRestBefore);
  const { phase_timeout_minutes: minutes } = state.config;
  if (worked <= minutes * 60_000) return undefined;
  return stopped(state, at, "timeout", `the phase took longer than ${minutes} minutes`);
};

const circles: Reason = (state, at) => {
  const seen = circlesAtBoundary(state, place(at), at.circle);
  if (seen === undefined) return undefined;
  if (!seen.ends) return { stop: undefined, facts: [seen.fact] };
  const said = stopped(state, at, "stuck", "it goes round in circles");
  return { ...said, facts: [seen.fact, ...said.facts] };
};

const context: Reason = (state, at) => {
  const decision = decideBoundary(state.config, contextView(state, at));
  if (decision.go) return undefined;
  const { act, rule, threshold, reason } = decision;
  // Under `ask`, "force" means: hand over without a question.
  const why = act === "ask" && state.contextAnswer === "force" ? "context" : STOP_WHY[act];
  const { reading } = at;
  const facts: Fact[] = [{ type: "boundary-decided", ...place(at), why, rule, reason, reading, threshold }];
  if (act === "stop") facts.push({ type: "stop-requested", by: "context_policy: stop", cause: "context" });
  return { stop: why, facts };
};

const STOP_WHY: Record<Extract<BoundaryDecision, { go: false }>["act"], StopWhy> = {
  "hand-over": "context",
  ask: "asked",
  stop: "stop-requested",
  fail: "window-too-small",
};

const paused: Reason = (state, at) =>
  state.hold === undefined ? undefined : stopped(state, at, "paused", "asked for");

const REASONS: readonly Reason[] = [
  reported,
  checkpointTurn,
  skipped,
  stopRequested,
  leaving,
  outOfTime,
  circles,
  context,
  paused,
];

const place = ({ phase, attempt, session }: AtBoundary) => ({ phase, attempt, session });

function stopped({ config }: RunState, at: AtBoundary, why: StopWhy, reason: string): BoundarySaid {
  const threshold = Math.round(thresholdTokens(config, at.limits));
  const { reading } = at;
  return { stop: why, facts: [{ type: "boundary-decided", ...place(at), why, reason, reading, threshold }] };
}

function contextView(state: RunState, at: AtBoundary): BoundaryView {
  const left = tasksLeft(state, at.phase);
  return {
    reading: at.reading,
    limits: at.limits,
    firstPrompt: at.firstPrompt,
    growth: at.growth,
    natural: at.natural,
    // Without tasks nobody knows: there is always more.
    workLeft: left > 0 || taskless(state, at.phase),
    gotOn: gotOn(state, at),
    toolCalls: at.toolCalls,
    economy: economyOf(state, at, taskless(state, at.phase) ? 1 : left),
    continued: mayGoOnAbove(state, at),
  };
}

/** Without tasks to tick, a report or a decision is a step. */
function gotOn(state: RunState, at: AtBoundary): boolean {
  const phase = state.phases.get(at.phase);
  const { tasksDone, tasksAtSessionStart } = isAttempted(phase)
    ? phase.attempt.progress
    : { tasksDone: [], tasksAtSessionStart: 0 };
  const reports = taskless(state, at.phase) ? (sessionOf(state, at)?.reports ?? 0) : 0;
  return tasksDone.length > tasksAtSessionStart || reports > 0;
}

const taskless = (state: RunState, id: string): boolean => phaseOf(state, id).tasks.length === 0;

function tasksLeft(state: RunState, id: string): number {
  const phase = state.phases.get(id);
  const done = isAttempted(phase) ? phase.attempt.progress.tasksDone : [];
  return phaseOf(state, id).tasks.filter((task) => !done.includes(task.id)).length;
}

/** Calls a task needs where none was finished yet. */
const USUAL_CALLS_PER_TASK = 10;
const RECENT_REREADS = 10;

/** What a handover would cost and save now, as far as this run knows. */
function economyOf(state: RunState, at: AtBoundary, left: number): Economy {
  const session = sessionOf(state, at);
  const all = [...state.sessions.values()];
  const mine = all.filter(({ phase }) => phase === at.phase);
  const tasksDone = Math.max(0, phaseOf(state, at.phase).tasks.length - left);
  const calls = mine.reduce((sum, each) => sum + each.calls, 0);
  const perTask = tasksDone === 0 ? USUAL_CALLS_PER_TASK : calls / tasksDone;
  // What happened in this phase says more than what happened in others before it.
  const measured = mine.flatMap(({ reread }) => (reread === undefined ? [] : [reread]));
  const rereading = [...measured.toReversed(), ...at.rereadBefore].slice(0, RECENT_REREADS);
  const known = <T>(values: (T | undefined)[]): T[] => values.filter((value) => value !== undefined);
  return {
    price: at.price,
    calls: session?.calls ?? 0,
    carried: session?.carried ?? 0,
    callsLeft: Math.max(0, left) * perTask,
    handover: handoverCost(at.reading.tokens, {
      price: at.price,
      checkpoints: known(all.map(({ checkpointUsage }) => checkpointUsage)),
      // The very first session pays for what all later ones find cached.
      starts: known(all.slice(1).map(({ firstCall }) => firstCall)),
      firstPrompt: at.firstSeen ?? 0,
      promptTokens: session?.promptTokens ?? 0,
      rereading,
    }),
    reread: rereadTokens(rereading),
  };
}
