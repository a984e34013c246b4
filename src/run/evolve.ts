/**
 * Folds one event into the state. The same journal always gives the same state, and events of different phases may
 * change places. An event of a session that is no longer the phase's own changes nothing but that session's figures.
 * Each machine folds in its own file; the table says which.
 */

import { sessionEnded } from "./after-session.js";
import { questionAnswered } from "./answers.js";
import { agentAway, agentsBack, limitLifted, limitReached } from "./choosing.js";
import { stuckNoticed } from "./circles.js";
import { commitFailed, commitIssued, commitMade, commitRefused, commitSkipped, phaseSetAside } from "./committing.js";
import { phaseDone, phaseFailed, phaseRevised, phaseSkipped, retryFailed, skipRequested } from "./ending.js";
import type { FactOf, FactType, RunEvent } from "./event.js";
import type { Folding } from "./folding.js";
import { mergeBegun, mergeFailed, mergeLost, mergeTested, phaseMerged } from "./merging.js";
import {
  checkoutRemade,
  isAttempted,
  type PhaseState,
  phaseIssued,
  phaseStarted,
  revise,
  startAbandoned,
  waiting,
} from "./phase.js";
import { dropOpenQuestions, questionAsked } from "./questions.js";
import { readinessOf, setPhase } from "./readiness.js";
import { toolRefused } from "./refusals.js";
import {
  boundaryDecided,
  callMade,
  changeSession,
  conversationsForgotten,
  progressReported,
  reported,
  resultReported,
  sessionIssued,
  sessionReady,
  turnEnded,
  turnStarted,
  windowKnown,
} from "./session.js";
import { phaseSplit } from "./splitting.js";
import type { RunState } from "./state.js";
import { accountLimited, nobodyHolds, phaseLeaving, phaseLetGo, phaseTaken, runTaken, workersSeen } from "./team.js";
import { gateFinished, gatesBaselined, phaseInspected, suspicionRaised } from "./verification.js";

/** A conductor is followed by another sooner than that, if anybody is there. */
const MINUTE_MS = 60_000;

/** The first event makes the state, every further one changes it in place. */
export function evolve(state: RunState | undefined, event: RunEvent): RunState {
  if (event.type === "run-started") return started(event);
  if (state === undefined) throw new Error(`a journal begins with run-started, not with ${event.type}`);
  const folding = state as Folding;
  if (event.seq > folding.seq) folding.seq = event.seq;
  if (event.epoch > folding.epoch) folding.epoch = event.epoch;
  if (event.provisional === undefined && event.at > folding.now) {
    const gap = Date.parse(event.at) - Date.parse(folding.now);
    // Nobody worked on it meanwhile.
    if (event.type === "run-resumed" || (event.type === "run-taken" && gap > MINUTE_MS)) folding.atRest += gap;
    folding.now = event.at;
  }
  if ("command" in event && typeof event.command === "string") folding.inFlight.delete(event.command);
  (FOLDS[event.type] as Fold<FactType>)(folding, event);
  return folding;
}

type Fold<T extends FactType> = (state: Folding, event: FactOf<T> & RunEvent) => void;

const nothing = (): void => {};

/** What each fact changes, and where. */
const FOLDS: { [T in FactType]: Fold<T> } = {
  // The run
  "run-started": nothing,
  "run-resumed": resumed,
  "run-completed": (state) => {
    state.status = "completed";
  },
  "run-failed": (state) => {
    state.status = "failed";
  },
  "run-stopped": (state) => {
    state.status = "stopped";
  },
  "run-held": (state, { hold }) => {
    state.hold = hold;
  },
  "run-released": (state) => {
    state.hold = undefined;
  },
  "stop-requested": (state, { by, cause }) => {
    state.stopping ??= { by, cause };
  },
  "tree-noted": (state, { tree }) => {
    state.noted = tree;
  },
  "head-moved": (state, { to }) => {
    state.headMoved = to;
  },
  "plan-changed": planChanged,
  "forecast-made": (state, { phases, samples, tokensPerIssue }) => {
    state.forecast = new Map(phases.map((phase) => [phase.phase, phase]));
    state.forecastSamples = samples;
    state.tokensPerIssue = tokensPerIssue;
  },
  // Time
  "time-reached": (state, { moment }) => {
    if (moment > state.now) state.now = moment;
  },
  "clock-jumped": (state, { seconds }) => {
    state.atRest += Math.max(0, seconds * 1_000);
  },
  "limit-reached": (state, event) => {
    if (!accountLimited(state, event)) limitReached(state, event);
  },
  "limit-lifted": limitLifted,
  "agent-away": agentAway,
  // Many machines
  "workers-seen": workersSeen,
  "run-taken": runTaken,
  "phase-taken": phaseTaken,
  "phase-leaving": phaseLeaving,
  "phase-let-go": phaseLetGo,
  // Questions
  "question-asked": questionAsked,
  "question-answered": questionAnswered,
  // Commands
  "command-issued": issued,
  "command-abandoned": startAbandoned,
  // Phases
  "phase-started": phaseStarted,
  "checkout-remade": (state, event) => {
    checkoutRemade(state, event);
    conversationsForgotten(state, event);
    mergeLost(state, event);
  },
  "phase-serialised": (state, { phase }) => {
    state.serialised.add(phase);
  },
  "phase-done": phaseDone,
  "phase-failed": phaseFailed,
  "skip-requested": skipRequested,
  "phase-set-aside": phaseSetAside,
  "phase-revised": phaseRevised,
  "phase-skipped": phaseSkipped,
  "phase-split": phaseSplit,
  // Sessions
  "session-started": (state, event) =>
    changeSession(state, event, (session) => ({ ...session, promptTokens: event.promptTokens })),
  "session-ready": sessionReady,
  "window-known": windowKnown,
  "turn-started": turnStarted,
  "call-made": callMade,
  "boundary-decided": boundaryDecided,
  "tool-refused": toolRefused,
  "progress-reported": progressReported,
  "decision-recorded": reported,
  "result-reported": resultReported,
  "verdict-reported": (state, event) =>
    changeSession(state, event, (session) => ({ ...session, verdicts: event.verdicts })),
  "turn-ended": turnEnded,
  "session-measured": (state, event) =>
    changeSession(state, event, (session) => ({ ...session, reread: event.reread })),
  "session-ended": sessionEnded,
  "stuck-noticed": stuckNoticed,
  // Verification, commits, merges
  "gates-baselined": gatesBaselined,
  "gate-finished": gateFinished,
  "phase-inspected": phaseInspected,
  "suspicion-raised": suspicionRaised,
  "commit-made": commitMade,
  "commit-skipped": commitSkipped,
  "commit-refused": commitRefused,
  "commit-failed": commitFailed,
  "merge-begun": mergeBegun,
  "merge-tested": mergeTested,
  "phase-merged": phaseMerged,
  "merge-failed": mergeFailed,
  // Only told
  "door-refused": nothing,
  "tool-finished": nothing,
  "handoff-written": nothing,
  "context-warned": nothing,
  "compaction-blocked": nothing,
  compacted: nothing,
  "checkpoint-reported": nothing,
  "checkpoint-saved": nothing,
  "plan-edited-by-agent": nothing,
  warned: nothing,
};

function started(event: FactOf<"run-started"> & RunEvent): RunState {
  const taken = new Set(event.takenAsDone);
  const leftOut = new Set(event.leftOut);
  const left = { sessions: [], tasksDone: [], commits: [] };
  const phases = event.plan.phases.map(({ id }): [string, PhaseState] => [
    id,
    leftOut.has(id)
      ? { step: "skipped", left }
      : taken.has(id)
        ? { step: "done", verified: false, byUser: true, left }
        : waiting(1, undefined, event.tasksInGit[id] ?? []),
  ]);
  return {
    run: event.run,
    mode: event.mode,
    status: "running",
    stopping: undefined,
    hold: undefined,
    seq: event.seq,
    epoch: event.epoch,
    resumes: 0,
    plan: event.plan,
    format: event.format,
    config: event.config,
    parallel: event.parallel,
    inWorktrees: event.parallel > 1,
    gates: event.gates,
    branch: event.branch,
    noted: undefined,
    usersPaths: new Map(),
    folder: event.folder,
    phases: new Map(phases),
    readiness: readinessOf(event.plan, new Map(phases)),
    parents: new Map(),
    merged: new Map(),
    mergedAs: new Map(),
    serialised: new Set<string>(),
    sessions: new Map(),
    inFlight: new Map(),
    questions: new Map(),
    head: event.head,
    headMoved: undefined,
    crew: event.agents,
    away: new Map(),
    team: undefined,
    halted: false,
    attended: event.attended ?? false,
    startedAt: event.at,
    atRest: 0,
    spent: { tokens: 0, cost: 0 },
    gatesBefore: undefined,
    gateTimes: new Map(),
    contextAnswer: undefined,
    now: event.at,
    forecast: new Map(),
    forecastSamples: 0,
    tokensPerIssue: undefined,
    handoffs: new Map(Object.entries(event.handoffs ?? {})),
  };
}

function issued(state: Folding, { command }: FactOf<"command-issued">): void {
  state.inFlight.set(command.id, command);
  if (command.type === "start-phase") phaseIssued(state, command.phase);
  if (command.type === "start-session") sessionIssued(state, command);
  if (command.type === "commit") commitIssued(state, command.phase, command.kind);
}

function planChanged(state: Folding, { plan, added, removed }: FactOf<"plan-changed">): void {
  state.plan = plan;
  for (const id of removed) state.phases.delete(id);
  for (const id of added) state.phases.set(id, waiting());
  state.readiness = readinessOf(state.plan, state.phases);
}

/**
 * Another process took the run up. By a person's word what failed is tried again, the rest goes on where it was; by itself
 * it only goes on: what was asked, answered, held or failed stays as it is.
 */
function resumed(state: Folding, event: FactOf<"run-resumed"> & RunEvent): void {
  state.config = event.config;
  state.crew = event.agents;
  state.attended = event.attended ?? false;
  state.noted = undefined;
  state.status = "running";
  if (event.revived === undefined) takenUp(state, event.at);
  for (const path of event.usersPaths) state.usersPaths.set(path, event.since ?? "");
  for (const [id, phase] of state.phases) {
    if (!isAttempted(phase) || phase.attempt.origin.worktree !== undefined) continue;
    const staged = [...new Set([...phase.attempt.origin.staged, ...event.staged])];
    setPhase(state, id, { ...phase, attempt: revise(phase.attempt, "origin", { staged }) });
  }
}

function takenUp(state: Folding, at: string): void {
  state.resumes++;
  agentsBack(state);
  state.stopping = undefined;
  state.hold = undefined;
  state.halted = false;
  nobodyHolds(state);
  dropOpenQuestions(state);
  retryFailed(state, at);
}
