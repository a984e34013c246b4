/**
 * The state of a run, folded from its journal.
 *
 *   phase     waiting ─ dependencies done ─▶ starting ─▶ working ─ result ─▶ verifying ─ gates pass ─▶ committing ─▶ done
 *                                                         ▲                    │ fail                      │ in a worktree of its own
 *                                                         └── remediating ◀────┘                           ▼
 *                                                                  ▲           ▲                        merging ─ swapped in ─▶ done
 *                                                                  │ conflict, └── others were merged meanwhile ──┘
 *                                                                  │ gates fail merged
 *             verifying ─ gates pass ─▶ inspected ─ verify: agent ─▶ reviewing ─▶ verifying
 *             working ─ too large ─▶ split(parts) ─ all parts done ─▶ verifying
 *             any ─▶ failed(category) ─ resumed ─▶ waiting(next attempt) · skipped
 *
 *   session   starting ─▶ turning ─▶ idle ─ stopped at a boundary ─▶ checkpointing ─▶ idle ─▶ ended(reason)
 *                           ▲          ├─ no result yet: one nudge ──┐
 *                           └──────────┼──────────────────────────────┘
 *                                      └─ result, or nothing more to ask ─▶ ended(reason)
 *
 *   run       running ─▶ completed | failed | stopped ─ resumed ─▶ running          beside it: hold(paused), limit(until)
 */
import type { Config } from "../config/schema.js";
import type { PhaseForecast } from "../context/forecast.js";
import type { FormatName, Phase, Plan } from "../plan/model.js";
import type { Command, Purpose, SessionEnd, TurnKind } from "./command.js";
import type { BlobRef, CriterionVerdict, StopWhy, Suspicion, TurnEnd, Usage } from "./event.js";
import type { PhaseFailure, PhaseResult } from "./outcome.js";
import type { Question } from "./question.js";

/** A checkout of a phase's own, outside the repository. */
export interface Worktree {
  folder: string;
  branch: string;
}

/** What others merged meanwhile, in the phase's worktree: not committed until the gates pass on it. */
export interface Merge {
  /** The commit that was merged in, and the phase's own newest before it. */
  base: string;
  tip: string;
  conflicts: string[];
  /** Phases whose gates count here, too: they are merged already, and touched the same files. */
  sharing: string[];
  /** Repairs of the phase before this merge. */
  repairsBefore: number;
}

/** What holds for every phase that was started. */
export interface Attempt {
  attempt: number;
  head: string;
  baseline: string;
  /** Where it works; undefined: in the run's own checkout. */
  worktree: Worktree | undefined;
  merge: Merge | undefined;
  /** How often it was taken to the merge train, and the commit that brought it in. */
  merges: number;
  merged: string | undefined;
  /** The sub-phases it was split into. */
  parts: string[];
  /** A person, or the configuration, said that it is not split. */
  unsplit: boolean;
  /** Paths the user had staged when the phase began: theirs to commit. */
  staged: string[];
  sessions: string[];
  /** How many of them belong to earlier attempts. */
  sessionsBefore: number;
  tasksDone: string[];
  /** Handovers in a row after which no further task was done. */
  idleHandovers: number;
  /** Tasks done when the newest session began. */
  tasksAtSessionStart: number;
  remediations: number;
  commits: string[];
  /** Commits that were made, found needless or failed: the number of the next one follows from it. */
  commitsFinished: number;
  commitFailure: PhaseFailure | undefined;
  /** API errors in a row, and time-outs. */
  apiErrors: number;
  timeouts: number;
  startedAt: string;
  asleepBefore: number;
  /** Gates that failed, by round; lines changed after each repair. */
  failures: string[][];
  lines: number[];
  /** What was done so far is committed, so that others may work in the same checkout while a person is asked. */
  settled: boolean;
  /** The agent's words, where it wants a person to look. */
  human: string | undefined;
  /** What was found when all gates had passed, and what an independent session found. */
  inspected: { suspicions: Suspicion[]; unreported: string[] } | undefined;
  reviewed: CriterionVerdict[] | undefined;
  /** A person accepted it although it failed. */
  accepted: boolean;
  /** How often it went round in circles since its last finished task. */
  stuck: number;
  /** A session that was handed over and left nothing: no report, no decision, no commit. */
  fruitless: string | undefined;
  /** Its next session begins no earlier. */
  notBefore: string | undefined;
  /** The user asked to skip the phase while it was under way. */
  skipping: boolean;
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
  /** `before`: what an earlier attempt left, to go on from. */
  | { step: "waiting"; attempt: number; before: Attempt | undefined; tasksInGit: string[] }
  | { step: "starting"; attempt: number; before: Attempt | undefined; tasksInGit: string[] }
  | ({ step: "working" | "remediating"; next: Next; failing: GateResult[] } & Attempt)
  | ({ step: "verifying"; results: GateResult[] } & Attempt)
  /** An independent session judges it. */
  | ({ step: "reviewing"; next: Next; results: GateResult[] } & Attempt)
  | ({ step: "committing"; committed: boolean; results: GateResult[] } & Attempt)
  /** Committed in its worktree, and on its way to the run's branch. */
  | ({ step: "merging"; results: GateResult[] } & Attempt)
  /** Its sub-phases do its work. */
  | ({ step: "split" } & Attempt)
  | ({ step: "done"; verified: boolean; byUser: boolean } & Pick<Attempt, "sessions" | "tasksDone" | "commits">)
  | { step: "skipped"; sessions: string[]; tasksDone: string[]; commits: string[] }
  | ({ step: "failed"; failure: PhaseFailure; attempted: Attempt | undefined; leftCommitted: boolean } & Pick<
      Attempt,
      "sessions" | "tasksDone" | "commits"
    >);

interface SessionFacts {
  id: string;
  phase: string;
  attempt: number;
  purpose: Purpose;
  /** As the agent reported them; unknown until it is ready. */
  model: string | undefined;
  agentSession: string | undefined;
  window: number;
  compactAt: number | undefined;
  /** What Segno said at its start. */
  promptTokens: number;
  /** Tokens in its window after its last call, and the prompt of its first. */
  lastTokens: number;
  firstPrompt: number | undefined;
  /** By how much its calls' prompts were above the first, summed. */
  carried: number;
  /** What its start and its checkpoint turn cost beyond going on in the old one, in input tokens at list price. */
  startWeight: number;
  checkpointWeight: number;
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
  fruit: number;
  nudged: boolean;
  checkpointed: boolean;
  result: PhaseResult | undefined;
  verdicts: CriterionVerdict[] | undefined;
}

export type SessionState =
  | ({ step: "starting" } & SessionFacts)
  | ({ step: "turning"; turn: Exclude<TurnKind, "checkpoint"> } & SessionFacts)
  | ({ step: "checkpointing" } & SessionFacts)
  | ({ step: "idle"; end: TurnEnd; turn: TurnKind } & SessionFacts)
  | ({ step: "ended"; reason: SessionEnd; message: string | undefined; end: TurnEnd | undefined } & SessionFacts);

export type RunStatus = "running" | "completed" | "failed" | "stopped";

/** Which phases wait, are ready, are under way; kept by `roster.ts`. */
export interface Roster {
  planned: Map<string, Phase>;
  /** Places in the plan. */
  order: Map<string, number>;
  dependents: Map<string, string[]>;
  /** How many dependencies of a phase are not satisfied. */
  waitsFor: Map<string, number>;
  /** Phases that wait for nothing but their turn, in the plan's order. */
  ready: string[];
  underWay: Set<string>;
  failed: Set<string>;
  satisfied: number;
}

/** Only `evolve` changes it; for everyone else it is read-only. */
export interface RunState {
  run: string;
  mode: "run" | "rehearsal";
  status: RunStatus;
  /** Someone asked the run to stop: what is under way is brought to a clean end, nothing new begins. */
  stopping: boolean;
  /** Why the run is not moving, beside whatever its phases do. */
  hold: "paused" | undefined;
  seq: number;
  epoch: number;
  plan: Plan;
  format: FormatName | undefined;
  config: Config;
  /** How many phases may be under way at once, and whether each has a worktree of its own. */
  parallel: number;
  apart: boolean;
  gates: "block" | "report";
  branch: string;
  /** The tree when the run last came to rest: what differs from it at a resume is the user's. */
  noted: string | undefined;
  /** Paths the user changed while the run rested, and the tree that still holds them as the run left them. */
  usersPaths: ReadonlyMap<string, string>;
  top: string;
  cwd: string;
  phases: ReadonlyMap<string, PhaseState>;
  roster: Roster;
  /** The phase a sub-phase is part of. */
  parents: ReadonlyMap<string, string>;
  /** What merged phases changed, in order. */
  merged: ReadonlyMap<string, readonly string[]>;
  /** Phases that were said to wait because they claim files of another. */
  serialised: ReadonlySet<string>;
  sessions: ReadonlyMap<string, SessionState>;
  inFlight: ReadonlyMap<string, Command>;
  questions: ReadonlyMap<string, Question>;
  /** What the user said when the context policy asked: from then on it does not ask again. */
  /** A usage limit that holds the whole run: one account. `times`: how often in a row without a known end. */
  limit: { until: string; message: string; times: number } | undefined;
  /** Where the run left HEAD, and where it was found instead, until somebody says whether to go on from there. */
  head: string;
  headMoved: string | undefined;
  /** A failure after which nothing else is begun. */
  halted: boolean;
  attended: boolean;
  startedAt: string;
  /** Milliseconds in which the machine slept. */
  asleep: number;
  /** What the run used so far; cost is undefined if a model's price is not known. */
  spent: { tokens: number; cost: number | undefined };
  /** What gates said before the first phase, by command, and how long they usually take. */
  gatesBefore: ReadonlyMap<string, { passed: boolean; number: number | undefined }> | undefined;
  gateTimes: ReadonlyMap<string, readonly number[]>;
  toldOnContext: "continue" | "force" | undefined;
  /** The newest moment that is known to have come. */
  now: string;
  forecast: ReadonlyMap<string, PhaseForecast>;
  /** On how many earlier phases it rests. */
  forecastSamples: number;
  handoffs: ReadonlyMap<string, BlobRef>;
}

export const phaseOf = (state: RunState, id: string): Phase => {
  const phase = state.roster.planned.get(id);
  if (phase === undefined) throw new Error(`no phase ${id} in the plan of run ${state.run}`);
  return phase;
};

export const stateOfPhase = (state: RunState, id: string): PhaseState => {
  const phase = state.phases.get(id);
  if (phase === undefined) throw new Error(`no phase ${id} in run ${state.run}`);
  return phase;
};

/** Questions that wait for an answer. */
export const openQuestions = (state: RunState): Question[] =>
  [...state.questions.values()].filter((question) => question.answer === undefined);

export const isOver = (phase: PhaseState): boolean =>
  phase.step === "done" || phase.step === "failed" || phase.step === "skipped";

export const isAttempt = (phase: PhaseState): phase is Extract<PhaseState, Attempt> => "baseline" in phase;
