/** The state of a run, folded from its journal: what the machines of this folder keep, side by side. */

import type { Config } from "../config/schema.js";
import type { PhaseForecast } from "../context/forecast.js";
import type { FormatName, Phase, Plan } from "../plan/model.js";
import type { Absence } from "./choosing.js";
import type { Command } from "./command.js";
import type { BlobRef, StopCause } from "./event.js";
import type { PhaseState } from "./phase.js";
import type { Question } from "./questions.js";
import type { Readiness } from "./readiness.js";
import type { SessionState } from "./session.js";
import type { TeamState } from "./team.js";

/**
 *   run   running ─▶ completed | failed | stopped ─ resumed ─▶ running          beside it: hold(paused), agents away(until), questions
 */
export type RunStatus = "running" | "completed" | "failed" | "stopped";

/** Only `evolve` changes it; for everyone else it is read-only. */
export interface RunState {
  run: string;
  mode: "run" | "rehearsal";
  status: RunStatus;
  /** Someone asked the run to stop: what is under way is brought to a clean end, nothing new begins. */
  stopping: { by: string; cause: StopCause } | undefined;
  /** Why the run is not moving, beside whatever its phases do. */
  hold: "paused" | undefined;
  seq: number;
  /** The lease under which its newest event was written, and how often it was taken up again. */
  epoch: number;
  resumes: number;
  plan: Plan;
  format: FormatName | undefined;
  config: Config;
  /** How many phases may be under way at once, and whether each has a worktree of its own. */
  parallel: number;
  inWorktrees: boolean;
  gates: "block" | "report";
  branch: string;
  /** The tree when the run last came to rest: what differs from it at a resume is the user's. */
  noted: string | undefined;
  /** Paths the user changed while the run rested, and the tree that still holds them as the run left them. */
  usersPaths: ReadonlyMap<string, string>;
  /** The directory below the repository's top level in which the run was started; empty: the top level itself. */
  folder: string;
  phases: ReadonlyMap<string, PhaseState>;
  readiness: Readiness;
  /** The phase a sub-phase is part of. */
  parents: ReadonlyMap<string, string>;
  /** What merged phases changed, in order. */
  merged: ReadonlyMap<string, readonly string[]>;
  /** The commits that brought them in. */
  mergedAs: ReadonlyMap<string, string>;
  /** Phases that were said to wait because they name files of another. */
  serialised: ReadonlySet<string>;
  sessions: ReadonlyMap<string, SessionState>;
  inFlight: ReadonlyMap<string, Command>;
  questions: ReadonlyMap<string, Question>;
  /** Agents that may work here; undefined: all. */
  crew: readonly string[] | undefined;
  /** Agents that do not work now, and until when: a usage limit belongs to an account, not to the run. */
  away: ReadonlyMap<string, Absence>;
  /** Who is at work where; undefined on one machine. */
  team: TeamState | undefined;
  /** Where the run left HEAD, and where it was found instead, until somebody says whether to go on from there. */
  head: string;
  headMoved: string | undefined;
  /** A failure after which nothing else is begun. */
  halted: boolean;
  attended: boolean;
  startedAt: string;
  /** Milliseconds in which nobody worked on it: the machine slept, or no process held the run. */
  atRest: number;
  /** What the run used so far; cost is undefined if a model's price is not known. */
  spent: { tokens: number; cost: number | undefined };
  /** What gates said before the first phase, by command, and how long they usually take. */
  gatesBefore: ReadonlyMap<string, { passed: boolean; number: number | undefined }> | undefined;
  gateTimes: ReadonlyMap<string, readonly number[]>;
  /** What the user said for the rest of the run when the context policy asked: from then on it does not ask again. */
  contextAnswer: "continue" | "force" | undefined;
  /** The newest moment that is known to have come. */
  now: string;
  forecast: ReadonlyMap<string, PhaseForecast>;
  /** On how many earlier phases it rests, and what repairs needed in them, for each thing that failed. */
  forecastSamples: number;
  tokensPerIssue: number | undefined;
  handoffs: ReadonlyMap<string, BlobRef>;
}

export const phaseOf = (state: RunState, id: string): Phase => {
  const phase = state.readiness.planned.get(id);
  if (phase === undefined) throw new Error(`no phase ${id} in the plan of run ${state.run}`);
  return phase;
};

export const stateOfPhase = (state: RunState, id: string): PhaseState => {
  const phase = state.phases.get(id);
  if (phase === undefined) throw new Error(`no phase ${id} in run ${state.run}`);
  return phase;
};
