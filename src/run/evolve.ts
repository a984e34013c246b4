/**
 * Folds one event into the state. The same journal always gives the same state; an event of a session that is no
 * longer the phase's own changes nothing but that session's figures.
 */
import { checkpointWeight, startWeight } from "../context/economy.js";
import { costOf } from "../context/prices.js";
import type { CommitKind, SessionEnd } from "./command.js";
import type { FactOf, RunEvent, Usage } from "./event.js";
import { failingIn } from "./failing.js";
import { mergeBegun, mergeFailed, phaseMerged } from "./merging.js";
import type { Question } from "./question.js";
import { type Folding as Rostered, rosterOf, setPhase } from "./roster.js";
import { partEnded, phaseSplit } from "./splitting.js";
import {
  type Attempt,
  type GateResult,
  isAttempt,
  openQuestions,
  type PhaseState,
  type RunState,
  type SessionState,
  stateOfPhase,
} from "./state.js";

interface Folding extends Rostered {
  sessions: Map<string, SessionState>;
  usersPaths: Map<string, string>;
  inFlight: Map<string, never>;
  questions: Map<string, Question>;
  serialised: Set<string>;
}

/** The first event makes the state, every further one changes it in place. */
export function evolve(state: RunState | undefined, event: RunEvent): RunState {
  if (event.type === "run-started") return started(event);
  if (state === undefined) throw new Error(`a journal begins with run-started, not with ${event.type}`);
  const folding = state as Folding;
  folding.seq = event.seq;
  if (event.at > folding.now) folding.now = event.at;
  folding.epoch = event.epoch;
  apply(folding, event);
  return folding;
}

function started(event: FactOf<"run-started"> & RunEvent): RunState {
  const taken = new Set(event.takenAsDone);
  const leftOut = new Set(event.leftOut);
  const phases = event.plan.phases.map((phase): [string, PhaseState] => [
    phase.id,
    leftOut.has(phase.id)
      ? { step: "skipped", sessions: [], tasksDone: [], commits: [] }
      : taken.has(phase.id)
        ? { step: "done", verified: false, byUser: true, sessions: [], tasksDone: [], commits: [] }
        : { step: "waiting", attempt: 1, before: undefined, tasksInGit: event.tasksInGit[phase.id] ?? [] },
  ]);
  return {
    run: event.run,
    mode: event.mode,
    status: "running",
    stopping: false,
    hold: undefined,
    seq: event.seq,
    epoch: event.epoch,
    plan: event.plan,
    format: event.format,
    config: event.config,
    parallel: event.parallel,
    apart: event.parallel > 1,
    gates: event.gates,
    branch: event.branch,
    noted: undefined,
    usersPaths: new Map(),
    top: event.top,
    cwd: event.cwd,
    phases: new Map(phases),
    roster: rosterOf(event.plan, new Map(phases)),
    parents: new Map(),
    merged: new Map(),
    serialised: new Set<string>(),
    sessions: new Map(),
    inFlight: new Map(),
    questions: new Map(),
    head: event.head,
    headMoved: undefined,
    limit: undefined,
    halted: false,
    attended: event.attended ?? false,
    startedAt: event.at,
    asleep: 0,
    spent: { tokens: 0, cost: 0 },
    gatesBefore: undefined,
    gateTimes: new Map(),
    toldOnContext: undefined,
    now: event.at,
    forecast: new Map(),
    forecastSamples: 0,
    handoffs: new Map(Object.entries(event.handoffs ?? {})),
  };
}

function apply(state: Folding, event: RunEvent): void {
  if ("command" in event && typeof event.command === "string") state.inFlight.delete(event.command);
  switch (event.type) {
    case "run-started":
      return;
    case "command-issued":
      return issued(state, event);
    case "phase-started":
      return phaseStarted(state, event);
    case "turn-started":
      return session(state, event, (current) => {
        const turns = current.turns + 1;
        if (event.turn === "checkpoint") return { ...current, turns, step: "checkpointing", checkpointed: true };
        const nudged = current.nudged || event.turn === "nudge";
        return { ...current, turns, step: "turning", turn: event.turn, nudged };
      });
    case "call-made":
      spend(state, event);
      return session(state, event, (current) => called(current, event));
    case "gates-baselined": {
      state.gatesBefore = new Map(event.results.map(({ command, passed, number }) => [command, { passed, number }]));
      for (const { command, passed, ms } of event.results) if (passed) timed(state, command, ms);
      return;
    }
    case "head-moved":
      state.headMoved = event.to;
      return;
    case "limit-reached":
      state.limit = { until: event.until, message: event.message, times: (state.limit?.times ?? 0) + 1 };
      return;
    case "limit-lifted":
      state.limit = undefined;
      return;
    case "phase-inspected": {
      const { suspicions, unreported } = event;
      return attempt(state, event.phase, (phase) => ({ ...phase, inspected: { suspicions, unreported } }));
    }
    case "verdict-reported":
      return session(state, event, (current) => ({ ...current, verdicts: event.verdicts }));
    case "clock-jumped":
      state.asleep += Math.max(0, event.seconds * 1_000);
      return;
    case "boundary-decided": {
      const { reading, threshold, why } = event;
      const ends = why === "stuck" || why === "timeout" ? why : undefined;
      return session(state, event, (current) => ({
        ...current,
        boundary: { tokens: reading.tokens, threshold, why, ends },
      }));
    }
    case "session-started":
      return session(state, event, (current) => ({ ...current, promptTokens: event.promptTokens }));
    case "session-measured":
      return session(state, event, (current) => ({ ...current, reread: event.reread }));
    case "forecast-made":
      state.forecast = new Map(event.phases.map((phase) => [phase.phase, phase]));
      state.forecastSamples = event.samples;
      return;
    case "question-asked": {
      const { question, kind, phase, session: asking, text, choices, fallback, minutes } = event;
      const until = new Date(Date.parse(event.at) + minutes * 60_000).toISOString();
      const asked = { id: question, kind, phase, session: asking, text, choices, fallback, until, answer: undefined };
      state.questions.set(question, asked);
      return;
    }
    case "question-answered":
      return answered(state, event);
    case "time-reached":
      if (event.moment > state.now) state.now = event.moment;
      return;
    case "progress-reported":
      return progressed(state, event);
    case "result-reported":
      return resultReported(state, event);
    case "turn-ended":
      return session(state, event, (current) => ({ ...current, step: "idle", end: event.end, turn: turnOf(current) }));
    case "session-ended":
      return sessionEnded(state, event);
    case "gate-finished": {
      const { gate, name, passed, why, output } = event;
      const check = state.roster.planned.get(event.phase)?.gates.find(({ id }) => id === gate)?.check;
      if (passed && check?.type === "command") timed(state, check.command, event.ms);
      return attempt(state, event.phase, (phase) =>
        phase.step === "verifying"
          ? { ...phase, results: [...phase.results, { gate, name, passed, why, output }] }
          : phase,
      );
    }
    case "commit-made":
      if (event.ref === undefined && worksInCheckout(state, event.phase)) state.head = event.sha;
      attempt(state, event.phase, (phase) => ({ ...phase, fruitless: undefined }));
      return committed(state, event.phase, event.kind, event.sha);
    case "decision-recorded":
      return session(state, event, (current) => ({ ...current, fruit: current.fruit + 1 }));
    case "stuck-noticed":
      return stuck(state, event);
    case "commit-refused":
      return commitRefused(state, event);
    case "commit-skipped":
      return committed(state, event.phase, event.kind, undefined);
    case "phase-done": {
      const phase = stateOfPhase(state, event.phase);
      if (!isAttempt(phase)) return;
      const { sessions, commits } = phase;
      setPhase(state, event.phase, {
        step: "done",
        verified: event.verified,
        byUser: false,
        sessions,
        tasksDone: event.tasksDone,
        commits,
      });
      return partEnded(state, event.phase);
    }
    case "phase-serialised":
      state.serialised.add(event.phase);
      return;
    case "merge-begun":
      return mergeBegun(state, event);
    case "phase-merged":
      return phaseMerged(state, event);
    case "merge-failed":
      return mergeFailed(state, event);
    case "phase-split":
      return phaseSplit(state, event);
    case "phase-failed": {
      const phase = stateOfPhase(state, event.phase);
      const { sessions, tasksDone, commits } = leftBy(phase);
      const { category, message, recommendation } = event;
      const failure = { category, message, recommendation };
      const attempted = isAttempt(phase) ? phase : undefined;
      if (recommendation === "halt" || state.config.on_failure === "stop") state.halted = true;
      setPhase(state, event.phase, {
        step: "failed",
        failure,
        attempted,
        leftCommitted: false,
        sessions,
        tasksDone,
        commits,
      });
      return;
    }
    case "run-completed":
      state.status = "completed";
      return;
    case "run-failed":
      state.status = "failed";
      return;
    case "run-stopped":
      state.status = "stopped";
      return;
    case "commit-failed": {
      if (stateOfPhase(state, event.phase).step === "failed")
        return committed(state, event.phase, event.kind, undefined);
      const commitFailure = { category: event.category, message: event.why, recommendation: "ask" as const };
      return attempt(state, event.phase, (phase) => ({
        ...phase,
        commitFailure,
        commitsFinished: phase.commitsFinished + 1,
      }));
    }
    case "stop-requested":
      state.stopping = true;
      return;
    case "tree-noted":
      state.noted = event.tree;
      return;
    case "run-resumed":
      state.config = event.config;
      state.noted = undefined;
      // What nobody answered is asked again where it still matters.
      for (const question of openQuestions(state)) state.questions.delete(question.id);
      for (const path of event.usersPaths) state.usersPaths.set(path, event.since ?? "");
      for (const [id, phase] of state.phases) {
        if (isAttempt(phase) && phase.worktree === undefined)
          setPhase(state, id, { ...phase, staged: [...new Set([...phase.staged, ...event.staged])] });
      }
      return resumed(state);
    case "run-held":
      state.hold = event.hold;
      return;
    case "run-released":
      state.hold = undefined;
      return;
    case "skip-requested": {
      const phase = stateOfPhase(state, event.phase);
      if (isAttempt(phase)) setPhase(state, event.phase, { ...phase, skipping: true });
      else if (phase.step !== "done") setPhase(state, event.phase, { step: "skipped", ...leftBy(phase) });
      return partEnded(state, event.phase);
    }
    case "phase-skipped": {
      const phase = stateOfPhase(state, event.phase);
      setPhase(state, event.phase, { step: "skipped", ...leftBy(phase) });
      return partEnded(state, event.phase);
    }
    case "session-ready": {
      const { model, agentSession, window, compactAt } = event;
      return session(state, event, (current) => ({ ...current, model, agentSession, window, compactAt }));
    }
    case "command-abandoned":
      for (const id of state.roster.underWay) {
        const phase = stateOfPhase(state, id);
        if (phase.step === "starting" && `${id}/a${phase.attempt}/start` === event.command)
          setPhase(state, id, { ...phase, step: "waiting" });
      }
      return;
    case "plan-changed":
      state.plan = event.plan;
      for (const id of event.removed) state.phases.delete(id);
      for (const id of event.added)
        state.phases.set(id, { step: "waiting", attempt: 1, before: undefined, tasksInGit: [] });
      state.roster = rosterOf(state.plan, state.phases);
      return;
    case "door-refused":
    case "tool-finished":
    case "handoff-written":
    case "context-warned":
    case "compaction-blocked":
    case "compacted":
    case "checkpoint-saved":
    case "plan-edited-by-agent":
    case "warned":
      return;
    default:
      event satisfies never;
  }
}

function issued(state: Folding, { command }: FactOf<"command-issued">): void {
  (state.inFlight as Map<string, unknown>).set(command.id, command);
  switch (command.type) {
    case "start-phase":
      return starting(state, command.phase);
    case "start-session": {
      const { session: id, phase, attempt: number, purpose } = command;
      const usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
      const none = {
        window: 0,
        compactAt: undefined,
        promptTokens: 0,
        lastTokens: 0,
        firstPrompt: undefined,
        carried: 0,
        startWeight: 0,
        checkpointWeight: 0,
        reread: undefined,
        boundary: undefined,
        model: undefined,
        agentSession: undefined,
        usage,
        calls: 0,
        turns: 0,
        peakPercent: 0,
        fruit: 0,
        verdicts: undefined,
        nudged: false,
        checkpointed: false,
        result: undefined,
      };
      state.sessions.set(id, { step: "starting", id, phase, attempt: number, purpose, ...none });
      return attempt(state, phase, (current) => ({
        ...current,
        ...(purpose === "verify"
          ? { step: "reviewing", results: resultsOf(current) }
          : { step: purpose === "work" ? "working" : "remediating", failing: failingFor(current), results: [] }),
        next: { type: "running", session: id },
        sessions: [...current.sessions, id],
        tasksAtSessionStart: current.tasksDone.length,
        settled: false,
        ...(purpose !== "work" && purpose !== "verify" && current.step === "verifying" ? repairing(current) : {}),
      }));
    }
    case "commit":
      return attempt(state, command.phase, (current) =>
        (command.kind === "phase" || command.kind === "merge") && current.step === "verifying"
          ? { ...current, step: "committing", committed: false }
          : current,
      );
    case "continue-session":
    case "end-session":
    case "run-gate":
    case "inspect-phase":
    case "merge-phase":
      return;
    default:
      command satisfies never;
  }
}

function called(current: SessionState, { usage, subagent, reading }: FactOf<"call-made">): SessionState {
  const spent = { ...current, usage: addUsage(current.usage, usage) };
  if (subagent) return spent;
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  const firstPrompt = current.firstPrompt ?? prompt;
  return {
    ...spent,
    calls: current.calls + 1,
    firstPrompt,
    carried: current.carried + Math.max(0, prompt - firstPrompt),
    startWeight: current.calls === 0 ? startWeight(usage) : current.startWeight,
    checkpointWeight: current.checkpointWeight + (current.step === "checkpointing" ? checkpointWeight(usage) : 0),
    lastTokens: reading.tokens,
    peakPercent: Math.max(current.peakPercent, reading.percent),
  };
}

function answered(state: Folding, { question: id, choice, by }: FactOf<"question-answered">): void {
  const question = state.questions.get(id);
  if (question === undefined || question.answer !== undefined) return;
  state.questions.set(id, { ...question, answer: { choice, by } });
  switch (question.kind) {
    case "context":
    case "before-phase":
      if (choice === "stop") state.stopping = true;
      else state.toldOnContext = choice === "force" ? "force" : "continue";
      return;
    case "checkpoint":
      if (choice === "stop") state.stopping = true;
      return;
    case "head":
      if (choice === "stop") state.stopping = true;
      else state.head = state.headMoved ?? state.head;
      state.headMoved = undefined;
      return;
    case "failure":
      return answeredFailure(state, question.phase, choice);
    case "split":
      if (choice !== "split") attempt(state, question.phase, (phase) => ({ ...phase, unsplit: true }));
      return;
    case "merge":
      if (choice === "retry") attempt(state, question.phase, retryMerge);
      return;
    case "gate":
    case "verify":
      return;
    default:
      question.kind satisfies never;
  }
}

/** What a person wants done about a failed phase. */
function answeredFailure(state: Folding, id: string, choice: string): void {
  const phase = state.phases.get(id);
  if (phase?.step !== "failed") return;
  const { attempted } = phase;
  if (choice === "abort") state.stopping = true;
  else if (choice === "skip") setPhase(state, id, { step: "skipped", ...leftBy(phase) });
  else if (choice === "revise")
    setPhase(state, id, {
      step: "waiting",
      attempt: (attempted?.attempt ?? 0) + 1,
      before: attempted,
      tasksInGit: [],
    });
  else if (choice === "continue" && attempted?.merge !== undefined)
    setPhase(state, id, retryMerge({ ...attempted, step: "verifying", results: [] }));
  else if (choice === "continue" && attempted !== undefined)
    setPhase(state, id, {
      ...attempted,
      commitFailure: undefined,
      accepted: true,
      step: "committing",
      committed: false,
      results: [],
    });
}

/** A result that names tasks as completed reports them. */
function resultReported(state: Folding, event: FactOf<"result-reported">): void {
  session(state, event, (current) => ({ ...current, result: event.result }));
  const known = state.roster.planned.get(event.phase)?.tasks.map((task) => task.id) ?? [];
  const { status, tasks_completed } = event.result;
  const claimed = status === "completed" || status === "needs_human_verification" ? tasks_completed : [];
  attempt(state, event.phase, (phase) => {
    const more = known.filter((task) => claimed.includes(task) && !phase.tasksDone.includes(task));
    return more.length === 0 ? phase : { ...phase, tasksDone: [...phase.tasksDone, ...more] };
  });
}

function spend(state: Folding, { model, usage }: FactOf<"call-made">): void {
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
  const cost = costOf(model, usage);
  const before = state.spent;
  state.spent = {
    tokens: before.tokens + tokens,
    cost: before.cost === undefined || cost === undefined ? undefined : before.cost + cost,
  };
}

function timed(state: Folding, command: string, ms: number): void {
  const times = state.gateTimes as Map<string, readonly number[]>;
  times.set(command, [...(times.get(command) ?? []), ms].slice(-20));
}

/** As many repairs again as before. */
const retryMerge = (phase: Extract<PhaseState, Attempt>): PhaseState =>
  phase.merge === undefined ? phase : { ...phase, merge: { ...phase.merge, repairsBefore: phase.remediations } };

/** A repair begins: what failed this time is remembered, and everything is looked at again after it. */
const repairing = (phase: Extract<PhaseState, { step: "verifying" }>) => ({
  remediations: phase.remediations + 1,
  failures: [...phase.failures, failingFor(phase).map((result) => result.gate)],
  // In a merged state the phase itself was judged already.
  ...(phase.merge === undefined ? { inspected: undefined, reviewed: undefined, human: undefined } : {}),
});

const failingFor = (phase: Extract<PhaseState, Attempt>): GateResult[] =>
  phase.step === "verifying" ? failingIn(phase) : failingOf(phase);

const resultsOf = (phase: Extract<PhaseState, Attempt>): GateResult[] => ("results" in phase ? phase.results : []);

function starting(state: Folding, id: string): void {
  const phase = stateOfPhase(state, id);
  if (phase.step === "waiting") setPhase(state, id, { ...phase, step: "starting" });
}

/** A further attempt goes on from what the one before it left: it is the run's own work, not the user's. */
function phaseStarted(state: Folding, event: FactOf<"phase-started"> & RunEvent): void {
  if (event.worktree === undefined) state.head = event.head;
  const waiting = stateOfPhase(state, event.phase);
  // Skipped in the moment it was being started: it stays so.
  if (waiting.step !== "starting") return;
  const { before } = waiting;
  const { attempt, head, baseline, staged, worktree } = event;
  setPhase(state, event.phase, {
    step: "working",
    next: { type: "session" },
    failing: [],
    attempt,
    head,
    baseline,
    staged,
    worktree,
    merge: undefined,
    merges: 0,
    merged: undefined,
    parts: [],
    unsplit: false,
    sessions: before?.sessions ?? [],
    tasksDone: before?.tasksDone ?? waiting.tasksInGit,
    commits: before?.commits ?? [],
    idleHandovers: 0,
    tasksAtSessionStart: 0,
    sessionsBefore: before?.sessions.length ?? 0,
    remediations: 0,
    commitsFinished: 0,
    commitFailure: undefined,
    apiErrors: 0,
    timeouts: 0,
    startedAt: event.at,
    asleepBefore: state.asleep,
    failures: [],
    lines: [],
    settled: false,
    human: undefined,
    inspected: undefined,
    reviewed: undefined,
    accepted: false,
    stuck: 0,
    fruitless: undefined,
    notBefore: undefined,
    skipping: false,
  });
}

/** What failed is tried again, as a further attempt; what was stopped or interrupted goes on where it was. */
function resumed(state: Folding): void {
  state.status = "running";
  state.stopping = false;
  state.hold = undefined;
  state.halted = false;
  for (const [id, phase] of state.phases) {
    if (phase.step !== "failed") continue;
    // What only waited for a person is verified again, and asked again.
    if (phase.failure.category === "human_needed" && phase.attempted !== undefined) {
      setPhase(state, id, { ...phase.attempted, step: "verifying", results: [], settled: true });
      continue;
    }
    setPhase(state, id, againAfter(phase));
  }
}

function againAfter({ failure, attempted }: Extract<PhaseState, { step: "failed" }>): PhaseState {
  if (attempted !== undefined && attempted.parts.length > 0) return { ...attempted, step: "split" };
  if (failure.category === "merge_conflict" && attempted?.worktree !== undefined) {
    const again = { ...attempted, commitFailure: undefined, results: [] };
    return attempted.merge === undefined ? { ...again, step: "merging" } : retryMerge({ ...again, step: "verifying" });
  }
  return { step: "waiting", attempt: (attempted?.attempt ?? 0) + 1, before: attempted, tasksInGit: [] };
}

/** Whether its commits go to the run's own checkout. */
function worksInCheckout({ phases }: Folding, id: string): boolean {
  const phase = phases.get(id);
  const attempted = phase?.step === "failed" ? phase.attempted : phase;
  return attempted === undefined || !("worktree" in attempted) || attempted.worktree === undefined;
}

function leftBy(phase: PhaseState): Pick<Attempt, "sessions" | "tasksDone" | "commits"> {
  if (phase.step === "waiting" || phase.step === "starting") return { sessions: [], tasksDone: [], commits: [] };
  const { sessions, tasksDone, commits } = phase;
  return { sessions, tasksDone, commits };
}

/** From the second time on its session is ended, and the next one waits, twice as long each time. */
function stuck(state: Folding, event: FactOf<"stuck-noticed"> & RunEvent): void {
  const { stuck_backoff_seconds } = state.config;
  const waits = event.count < 2 ? 0 : stuck_backoff_seconds * 2 ** (event.count - 2);
  const notBefore = waits === 0 ? undefined : new Date(Date.parse(event.at) + waits * 1_000).toISOString();
  attempt(state, event.phase, (phase) => ({ ...phase, stuck: event.count, fruitless: undefined, notBefore }));
}

function progressed(state: Folding, event: FactOf<"progress-reported">): void {
  session(state, event, (current) => ({ ...current, fruit: current.fruit + 1 }));
  const { task } = event;
  if (task === undefined) return;
  attempt(state, event.phase, (phase) =>
    phase.tasksDone.includes(task) ? phase : { ...phase, tasksDone: [...phase.tasksDone, task], stuck: 0 },
  );
}

/** Ends that say nothing about whether the session got on. */
const NOT_ITS_OWN: ReadonlySet<SessionEnd> = new Set(["killed", "stopped", "skipped", "limit", "api-error"]);

const LONGEST_BACKOFF_SECONDS = 600;

/** Errors and time-outs in a row, and when the next session may begin. */
function counted(
  state: Folding,
  phase: Extract<PhaseState, Attempt>,
  ended: SessionState | undefined,
  event: FactOf<"session-ended"> & RunEvent,
): Pick<Attempt, "apiErrors" | "timeouts" | "notBefore" | "lines"> {
  const { timeouts, notBefore } = phase;
  const lines = event.lines === undefined ? phase.lines : [...phase.lines, event.lines];
  if (event.reason === "timeout") return { apiErrors: 0, timeouts: timeouts + 1, notBefore, lines };
  if (event.reason !== "api-error") return { apiErrors: 0, timeouts, notBefore, lines };
  // A session that got an answer at all begins a new row.
  const apiErrors = (ended?.calls ?? 0) > 0 ? 1 : phase.apiErrors + 1;
  const seconds = Math.min(LONGEST_BACKOFF_SECONDS, state.config.api_backoff_seconds * 2 ** (apiErrors - 1));
  const waits = seconds * (0.75 + (event.chance ?? 0.5) / 2) * 1_000;
  return { apiErrors, timeouts, notBefore: new Date(Date.parse(event.at) + waits).toISOString(), lines };
}

const HANDED_OVER: ReadonlySet<SessionEnd> = new Set(["handed-over", "context-full"]);

function sessionEnded(state: Folding, event: FactOf<"session-ended"> & RunEvent): void {
  // What was asked about a session is moot without it.
  for (const question of openQuestions(state)) {
    if (question.session === event.session) state.questions.delete(question.id);
  }
  const ended = state.sessions.get(event.session);
  session(state, event, (current) => ({
    ...current,
    step: "ended",
    reason: event.reason,
    message: event.message,
    end: current.step === "idle" ? current.end : undefined,
  }));
  attempt(state, event.phase, (was) => {
    if (was.step !== "working" && was.step !== "remediating" && was.step !== "reviewing") return was;
    if (was.next.type !== "running" || was.next.session !== event.session) return was;
    const phase = { ...was, ...counted(state, was, ended, event) };
    if (phase.step === "reviewing" && ended?.verdicts !== undefined) {
      const { next: _, ...rest } = phase;
      return { ...rest, step: "verifying", reviewed: ended.verdicts };
    }
    if (phase.step !== "reviewing" && event.reason === "result" && ended?.result?.status === "needs_human_verification")
      return { ...phase, step: "verifying", results: [], human: ended.result.summary };
    // A merged state is judged by its gates alone.
    if (phase.merge !== undefined && ended?.result !== undefined && event.reason !== "skipped") {
      const { next: _, ...rest } = phase;
      return { ...rest, step: "verifying", results: [] };
    }
    // Also when Segno ended right after the result was handed in: it is a fact, and the gates follow.
    if ((event.reason === "result" || event.reason === "killed") && ended?.result?.status === "completed") {
      if (phase.step !== "reviewing") return { ...phase, step: "verifying", results: [] };
    }
    const progress = phase.tasksDone.length > phase.tasksAtSessionStart;
    if (NOT_ITS_OWN.has(event.reason)) return { ...phase, next: { type: "handover-commit" } };
    const second = phase.sessions.length - phase.sessionsBefore > 1;
    const fruitless = second && ended?.fruit === 0 && HANDED_OVER.has(event.reason) ? event.session : undefined;
    const idleHandovers = progress ? 0 : phase.idleHandovers + 1;
    return { ...phase, next: { type: "handover-commit" }, idleHandovers, fruitless };
  });
}

function committed(state: Folding, id: string, kind: CommitKind, sha: string | undefined): void {
  const failed = stateOfPhase(state, id);
  if (failed.step === "failed") {
    const commits = sha === undefined ? failed.commits : [...failed.commits, sha];
    const attempted =
      failed.attempted === undefined
        ? undefined
        : { ...failed.attempted, commits, commitsFinished: failed.attempted.commitsFinished + 1 };
    setPhase(state, id, { ...failed, attempted, commits, leftCommitted: true });
    return;
  }
  attempt(state, id, (phase) => {
    const finished = {
      commits: sha === undefined ? phase.commits : [...phase.commits, sha],
      commitsFinished: phase.commitsFinished + 1,
    };
    if (kind === "handover" && phase.step === "verifying") return { ...phase, ...finished, settled: true };
    if (
      kind === "handover" &&
      (phase.step === "working" || phase.step === "remediating" || phase.step === "reviewing")
    ) {
      return { ...phase, ...finished, next: { type: "session" } };
    }
    if (phase.step !== "committing") return { ...phase, ...finished };
    if (phase.worktree === undefined) return { ...phase, ...finished, committed: true };
    const { committed: _, ...rest } = phase;
    return { ...rest, ...finished, step: "merging", merge: undefined };
  });
}

/** The work is kept; a finished phase goes to repair, a handover goes on without a commit. */
function commitRefused(state: Folding, { phase: id, kind, why, output }: FactOf<"commit-refused">): void {
  const before = stateOfPhase(state, id);
  if (before.step !== "committing" || before.accepted) return committed(state, id, kind, undefined);
  const refused = { gate: COMMIT_GATE, name: "the commit", passed: false, why, output };
  const { committed: _, ...phase } = before;
  const results = [...phase.results, refused];
  setPhase(state, id, { ...phase, step: "verifying", results, commitsFinished: phase.commitsFinished + 1 });
}

const COMMIT_GATE = "commit";

const failingOf = (phase: Extract<PhaseState, Attempt>) =>
  phase.step === "working" || phase.step === "remediating" ? phase.failing : [];

const turnOf = (current: SessionState) => {
  switch (current.step) {
    case "turning":
    case "idle":
      return current.turn;
    case "checkpointing":
      return "checkpoint";
    default:
      return "work";
  }
};

function attempt(state: Folding, id: string, change: (phase: Extract<PhaseState, Attempt>) => PhaseState): void {
  const phase = stateOfPhase(state, id);
  if (isAttempt(phase)) setPhase(state, id, change(phase));
}

function session(state: Folding, event: { session: string }, change: (current: SessionState) => SessionState): void {
  const current = state.sessions.get(event.session);
  if (current !== undefined && current.step !== "ended") state.sessions.set(event.session, change(current));
}

const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
});
