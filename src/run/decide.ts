/**
 * What to do now, from the state alone: never from the last event, so that a resumed run decides like one that was
 * never interrupted. Anything in flight is left to finish.
 *
 * Invariants
 * 1. A phase starts only when all its dependencies are done, and at most `parallel` are under way at once.
 * 2. A phase has at most one command in flight, and at most one session that is not ended.
 * 3. No phase uses more sessions, idle handovers or remediations than its limits allow.
 */
import { type Command, type CommitKind, commandId, type SessionEnd } from "./command.js";
import type { Fact } from "./event.js";
import type { PhaseFailure } from "./outcome.js";
import { type Attempt, type PhaseState, phaseOf, type RunState, type SessionState } from "./state.js";

/** A command to perform, or a conclusion that is a fact as soon as it is drawn. */
export type Decision = { type: "perform"; command: Command } | { type: "conclude"; fact: Fact };

export function decide(state: RunState): Decision[] {
  if (state.status !== "running") return [];
  const busy = new Set([...state.inFlight.values()].map((command) => command.phase));
  const decisions: Decision[] = [];
  let underWay = [...state.phases.values()].filter(isUnderWay).length;
  for (const { id, dependsOn } of state.plan.phases) {
    const phase = state.phases.get(id);
    if (phase === undefined || busy.has(id)) continue;
    if (state.stopping && beginsWork(phase)) continue;
    if (phase.step === "waiting") {
      if (underWay >= state.parallel || !dependsOn.every((other) => state.phases.get(other)?.step === "done")) continue;
      underWay++;
    }
    const decision = decidePhase(state, id, phase);
    if (decision !== undefined) decisions.push(decision);
  }
  if (decisions.length === 0 && state.inFlight.size === 0) return [{ type: "conclude", fact: conclusion(state) }];
  return decisions;
}

const isUnderWay = (phase: PhaseState): boolean =>
  phase.step !== "waiting" && phase.step !== "done" && phase.step !== "failed";

/** What a stopping run leaves for later: everything that has not begun yet. */
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

function conclusion(state: RunState): Fact {
  if (state.stopping && [...state.phases.values()].some((phase) => phase.step === "waiting" || isUnderWay(phase))) {
    return { type: "run-stopped", why: "asked to stop" };
  }
  const failed = [...state.phases].filter(([, phase]) => phase.step !== "done").map(([id]) => id);
  return failed.length === 0 ? { type: "run-completed" } : { type: "run-failed", phases: failed };
}

const perform = (command: Command): Decision => ({ type: "perform", command });

function decidePhase(state: RunState, id: string, phase: PhaseState): Decision | undefined {
  switch (phase.step) {
    case "waiting":
      return perform({ type: "start-phase", id: commandId(id, 1, "start"), phase: id, attempt: 1 });
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
    case "failed":
      return undefined;
    default:
      return phase satisfies never;
  }
}

type Working = Extract<PhaseState, { step: "working" | "remediating" }>;

function decideWork(state: RunState, id: string, phase: Working): Decision | undefined {
  const { next } = phase;
  switch (next.type) {
    case "session":
      return startSession(state, id, phase, phase.step === "remediating" ? "remediate" : "work");
    case "running": {
      const session = state.sessions.get(next.session);
      return session === undefined ? undefined : decideSession(phase, session, state.stopping);
    }
    case "handover-commit":
      return decideAfterSession(state, id, phase);
    default:
      return next satisfies never;
  }
}

function startSession(state: RunState, id: string, phase: Attempt, purpose: "work" | "remediate"): Decision {
  const n = phase.sessions.length + 1;
  if (n > state.config.max_sessions_per_phase) {
    return failPhase(id, phase.attempt, {
      category: "context_exhaustion",
      message: `Phase ${id} used all ${state.config.max_sessions_per_phase} sessions it may use (max_sessions_per_phase).`,
      recommendation: "split",
    });
  }
  const session = commandId(id, phase.attempt, "session", n);
  return perform({ type: "start-session", id: session, session, phase: id, attempt: phase.attempt, purpose, n });
}

/** A session that just went idle: ask for a checkpoint, nudge it once, or end it. */
function decideSession(phase: Working, session: SessionState, stopping: boolean): Decision | undefined {
  if (session.step !== "idle") return undefined;
  const { end } = session;
  const continueWith = (turn: "nudge" | "checkpoint"): Decision =>
    perform({
      type: "continue-session",
      id: `${session.id}/${turn}`,
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
  if (end.type === "crashed" || end.type === "failed") return endWith("crashed");
  if (session.result !== undefined) return endWith("result");
  if (session.checkpointed) return endWith(stopping ? "stopped" : "handed-over");
  switch (end.type) {
    case "stopped":
      return end.why === "window-too-small" ? endWith("window-too-small") : continueWith("checkpoint");
    case "too-long":
      return endWith("context-full");
    case "finished":
      return session.nudged ? endWith("no-result") : continueWith("nudge");
    default:
      return end satisfies never;
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
    case "stopped":
    case "killed":
      return undefined;
    default:
      return reason satisfies never;
  }
}

function decideVerification(state: RunState, id: string, phase: Extract<PhaseState, { step: "verifying" }>): Decision {
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

const failPhase = (phase: string, attempt: number, failure: PhaseFailure): Decision => ({
  type: "conclude",
  fact: { type: "phase-failed", phase, attempt, ...failure },
});
