/**
 * Folds one event into the state. The same journal always gives the same state; an event of a session that is no
 * longer the phase's own changes nothing but that session's figures.
 */
import type { Fact, FactOf, RunEvent, Usage } from "./event.js";
import { type Attempt, isAttempt, type PhaseState, type RunState, type SessionState, stateOfPhase } from "./state.js";

interface Folding extends RunState {
  phases: Map<string, PhaseState>;
  sessions: Map<string, SessionState>;
  inFlight: Map<string, never>;
}

/** The first event makes the state, every further one changes it in place. */
export function evolve(state: RunState | undefined, event: RunEvent): RunState {
  if (event.type === "run-started") return started(event);
  if (state === undefined) throw new Error(`a journal begins with run-started, not with ${event.type}`);
  const folding = state as Folding;
  folding.seq = event.seq;
  folding.epoch = event.epoch;
  apply(folding, event);
  return folding;
}

function started(event: FactOf<"run-started"> & RunEvent): RunState {
  const taken = new Set(event.takenAsDone);
  const phases = event.plan.phases.map((phase): [string, PhaseState] => [
    phase.id,
    taken.has(phase.id)
      ? { step: "done", verified: false, byUser: true, sessions: [], tasksDone: [], commits: [] }
      : { step: "waiting" },
  ]);
  return {
    run: event.run,
    status: "running",
    stopping: false,
    seq: event.seq,
    epoch: event.epoch,
    plan: event.plan,
    config: event.config,
    parallel: event.parallel,
    gates: event.gates,
    top: event.top,
    cwd: event.cwd,
    phases: new Map(phases),
    sessions: new Map(),
    inFlight: new Map(),
  };
}

function apply(state: Folding, event: Fact): void {
  if ("command" in event && typeof event.command === "string") state.inFlight.delete(event.command);
  switch (event.type) {
    case "run-started":
      return;
    case "command-issued":
      return issued(state, event);
    case "phase-started": {
      const { attempt, head, baseline, staged } = event;
      const fresh = {
        sessions: [],
        tasksDone: [],
        idleHandovers: 0,
        tasksAtSessionStart: 0,
        remediations: 0,
        commits: [],
        commitsFinished: 0,
        commitFailure: undefined,
      };
      state.phases.set(event.phase, {
        step: "working",
        next: { type: "session" },
        failing: [],
        attempt,
        head,
        baseline,
        staged,
        ...fresh,
      });
      return;
    }
    case "turn-started":
      return session(state, event, (current) =>
        event.turn === "checkpoint"
          ? { ...current, step: "checkpointing", checkpointed: true }
          : { ...current, step: "turning", turn: event.turn, nudged: current.nudged || event.turn === "nudge" },
      );
    case "call-made":
      return session(state, event, (current) => ({
        ...current,
        usage: addUsage(current.usage, event.usage),
        calls: current.calls + (event.subagent ? 0 : 1),
        peakPercent: event.subagent ? current.peakPercent : Math.max(current.peakPercent, event.reading.percent),
      }));
    case "progress-reported":
      return progressed(state, event);
    case "result-reported":
      return session(state, event, (current) => ({ ...current, result: event.result }));
    case "turn-ended":
      return session(state, event, (current) => ({ ...current, step: "idle", end: event.end, turn: turnOf(current) }));
    case "session-ended":
      return sessionEnded(state, event);
    case "gate-finished": {
      const { gate, name, passed, why, output } = event;
      return attempt(state, event.phase, (phase) =>
        phase.step === "verifying"
          ? { ...phase, results: [...phase.results, { gate, name, passed, why, output }] }
          : phase,
      );
    }
    case "commit-made":
      return committed(state, event.phase, event.kind, event.sha);
    case "commit-skipped":
      return committed(state, event.phase, event.kind, undefined);
    case "phase-done": {
      const phase = stateOfPhase(state, event.phase);
      if (!isAttempt(phase)) return;
      const { sessions, commits } = phase;
      state.phases.set(event.phase, {
        step: "done",
        verified: event.verified,
        byUser: false,
        sessions,
        tasksDone: event.tasksDone,
        commits,
      });
      return;
    }
    case "phase-failed": {
      const phase = stateOfPhase(state, event.phase);
      const { sessions, tasksDone, commits } = isAttempt(phase) ? phase : { sessions: [], tasksDone: [], commits: [] };
      const { category, message, recommendation } = event;
      state.phases.set(event.phase, {
        step: "failed",
        failure: { category, message, recommendation },
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
      const commitFailure = { category: event.category, message: event.why, recommendation: "ask" as const };
      return attempt(state, event.phase, (phase) => ({ ...phase, commitFailure }));
    }
    case "stop-requested":
      state.stopping = true;
      return;
    case "session-ready":
      return session(state, event, (current) => ({ ...current, model: event.model, agentSession: event.agentSession }));
    case "command-abandoned":
    case "session-started":
    case "tool-finished":
    case "decision-recorded":
    case "boundary-decided":
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
      state.phases.set(command.phase, { step: "starting", attempt: command.attempt });
      return;
    case "start-session": {
      const { session: id, phase, attempt: number, purpose } = command;
      const usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
      const none = {
        model: undefined,
        agentSession: undefined,
        usage,
        calls: 0,
        peakPercent: 0,
        nudged: false,
        checkpointed: false,
        result: undefined,
      };
      state.sessions.set(id, { step: "starting", id, phase, attempt: number, purpose, ...none });
      return attempt(state, phase, (current) => ({
        ...current,
        step: purpose === "remediate" ? "remediating" : "working",
        next: { type: "running", session: id },
        failing: current.step === "verifying" ? current.results.filter((result) => !result.passed) : failingOf(current),
        sessions: [...current.sessions, id],
        tasksAtSessionStart: current.tasksDone.length,
        remediations: current.remediations + (current.step === "verifying" ? 1 : 0),
      }));
    }
    case "commit":
      return attempt(state, command.phase, (current) =>
        command.kind === "phase" && current.step === "verifying"
          ? { ...current, step: "committing", committed: false }
          : current,
      );
    case "continue-session":
    case "end-session":
    case "run-gate":
      return;
    default:
      command satisfies never;
  }
}

function progressed(state: Folding, event: FactOf<"progress-reported">): void {
  const { task } = event;
  if (task === undefined) return;
  attempt(state, event.phase, (phase) =>
    phase.tasksDone.includes(task) ? phase : { ...phase, tasksDone: [...phase.tasksDone, task] },
  );
}

function sessionEnded(state: Folding, event: FactOf<"session-ended">): void {
  const ended = state.sessions.get(event.session);
  session(state, event, (current) => ({ ...current, step: "ended", reason: event.reason, message: event.message }));
  attempt(state, event.phase, (phase) => {
    if (phase.step !== "working" && phase.step !== "remediating") return phase;
    if (phase.next.type !== "running" || phase.next.session !== event.session) return phase;
    if (event.reason === "result" && ended?.result?.status === "completed") {
      return { ...phase, step: "verifying", results: [] };
    }
    const progress = phase.tasksDone.length > phase.tasksAtSessionStart;
    if (event.reason === "killed" || event.reason === "stopped") return { ...phase, next: { type: "handover-commit" } };
    return { ...phase, next: { type: "handover-commit" }, idleHandovers: progress ? 0 : phase.idleHandovers + 1 };
  });
}

function committed(state: Folding, id: string, kind: "handover" | "phase", sha: string | undefined): void {
  attempt(state, id, (phase) => {
    const finished = {
      commits: sha === undefined ? phase.commits : [...phase.commits, sha],
      commitsFinished: phase.commitsFinished + 1,
    };
    if (kind === "handover" && (phase.step === "working" || phase.step === "remediating")) {
      return { ...phase, ...finished, next: { type: "session" } };
    }
    return phase.step === "committing" ? { ...phase, ...finished, committed: true } : { ...phase, ...finished };
  });
}

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
  if (isAttempt(phase)) state.phases.set(id, change(phase));
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
