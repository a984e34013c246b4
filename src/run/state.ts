/**
 * The state of a run, folded from its journal.
 *
 *   phase     waiting ─ dependencies done ─▶ starting ─▶ working ─ result ─▶ verifying ─ gates pass ─▶ committing ─▶ done
 *                                                         ▲                    │ fail
 *                                                         └── remediating ◀────┘
 *             any ─▶ failed(category)
 *
 *   session   starting ─▶ turning ─▶ idle ─ stopped at a boundary ─▶ checkpointing ─▶ idle ─▶ ended(reason)
 *                           ▲          ├─ no result yet: one nudge ──┐
 *                           └──────────┼──────────────────────────────┘
 *                                      └─ result, or nothing more to ask ─▶ ended(reason)
 *
 *   run       running ─▶ completed | failed | stopped
 */
import type { Config } from "../config/schema.js";
import type { Phase, Plan } from "../plan/model.js";
import type { Command, Purpose, SessionEnd, TurnKind } from "./command.js";
import type { TurnEnd, Usage } from "./event.js";
import type { PhaseFailure, PhaseResult } from "./outcome.js";

/** What holds for every phase that was started. */
export interface Attempt {
  attempt: number;
  head: string;
  baseline: string;
  /** Paths the user had staged when the phase began: theirs to commit. */
  staged: string[];
  sessions: string[];
  tasksDone: string[];
  /** Handovers in a row after which no further task was done. */
  idleHandovers: number;
  /** Tasks done when the newest session began. */
  tasksAtSessionStart: number;
  remediations: number;
  commits: string[];
  /** Commits that were made or found needless: the number of the next one follows from it. */
  commitsFinished: number;
  commitFailure: PhaseFailure | undefined;
}

/** What the phase waits for while its agent has the floor, or just lost it. */
export type Next = { type: "session" } | { type: "running"; session: string } | { type: "handover-commit" };

export interface GateResult {
  gate: string;
  name: string;
  passed: boolean;
  why: string;
  output: string;
}

export type PhaseState =
  | { step: "waiting" }
  | { step: "starting"; attempt: number }
  | ({ step: "working" | "remediating"; next: Next; failing: GateResult[] } & Attempt)
  | ({ step: "verifying"; results: GateResult[] } & Attempt)
  | ({ step: "committing"; committed: boolean; results: GateResult[] } & Attempt)
  | ({ step: "done"; verified: boolean; byUser: boolean } & Pick<Attempt, "sessions" | "tasksDone" | "commits">)
  | ({ step: "failed"; failure: PhaseFailure } & Pick<Attempt, "sessions" | "tasksDone" | "commits">);

interface SessionFacts {
  id: string;
  phase: string;
  attempt: number;
  purpose: Purpose;
  /** As the agent reported them; unknown until it is ready. */
  model: string | undefined;
  agentSession: string | undefined;
  usage: Usage;
  calls: number;
  peakPercent: number;
  nudged: boolean;
  checkpointed: boolean;
  result: PhaseResult | undefined;
}

export type SessionState =
  | ({ step: "starting" } & SessionFacts)
  | ({ step: "turning"; turn: Exclude<TurnKind, "checkpoint"> } & SessionFacts)
  | ({ step: "checkpointing" } & SessionFacts)
  | ({ step: "idle"; end: TurnEnd; turn: TurnKind } & SessionFacts)
  | ({ step: "ended"; reason: SessionEnd; message: string | undefined } & SessionFacts);

export type RunStatus = "running" | "completed" | "failed" | "stopped";

/** Only `evolve` changes it; for everyone else it is read-only. */
export interface RunState {
  run: string;
  status: RunStatus;
  /** Someone asked the run to stop: what is under way is brought to a clean end, nothing new begins. */
  stopping: boolean;
  seq: number;
  epoch: number;
  plan: Plan;
  config: Config;
  parallel: number;
  gates: "block" | "report";
  top: string;
  cwd: string;
  phases: ReadonlyMap<string, PhaseState>;
  sessions: ReadonlyMap<string, SessionState>;
  inFlight: ReadonlyMap<string, Command>;
}

export const phaseOf = (state: RunState, id: string): Phase => {
  const phase = state.plan.phases.find((candidate) => candidate.id === id);
  if (phase === undefined) throw new Error(`no phase ${id} in the plan of run ${state.run}`);
  return phase;
};

export const stateOfPhase = (state: RunState, id: string): PhaseState => {
  const phase = state.phases.get(id);
  if (phase === undefined) throw new Error(`no phase ${id} in run ${state.run}`);
  return phase;
};

export const isAttempt = (phase: PhaseState): phase is Extract<PhaseState, Attempt> => "baseline" in phase;
