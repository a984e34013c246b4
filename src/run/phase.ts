/**
 * The phase.
 *
 *   waiting ─ dependencies done ─▶ starting ─▶ working ─ result ─▶ verifying ─ gates pass ─▶ committing ─▶ done
 *                                               ▲                    │ fail                      │ in a worktree of its own
 *                                               └── remediating ◀────┘                           ▼
 *                                                        ▲           ▲                        merging ─ swapped in ─▶ done
 *                                                        │ conflict, └── others were merged meanwhile ──┘
 *                                                        │ gates fail merged
 *   verifying ─ gates pass ─▶ inspected ─ verify: agent ─▶ reviewing ─▶ verifying
 *   working ─ too large ─▶ split(parts) ─ all parts done ─▶ verifying
 *   any ─▶ failed(category) ─ resumed ─▶ waiting(next attempt) · skipped
 *
 * A step carries its own data and the attempt, and nothing of another step.
 */
import type { CriterionVerdict, FactOf, RunEvent, Suspicion } from "./event.js";
import type { Folding } from "./folding.js";
import type { PhaseFailure } from "./outcome.js";
import { setPhase } from "./readiness.js";
import { stateOfPhase } from "./state.js";

/** A checkout of a phase's own, outside the repository: where it is, whoever conducts the run knows. */
export interface Worktree {
  branch: string;
}

/** The phase together with what comes before it on the branch, in its worktree: gates judge it there. */
export interface Merge {
  /** The commit that was merged in, and the phase's own newest before it. */
  base: string;
  tip: string;
  /** Whose candidate `base` is, before it in the train; undefined: the branch was there already. */
  behind: string | undefined;
  /** The merge commit as it would be on the branch; undefined where there are conflicts, or something was repaired since. */
  candidate: string | undefined;
  /** Its gates have passed on it; what they had said of the phase alone. */
  tested: boolean;
  alone: GateResult[];
  /** What the phase changed. */
  files: string[];
  conflicts: string[];
  /** Phases whose gates count here, too: they are merged already, and touched the same files. */
  sharing: string[];
  /** Repairs of the phase before this merge. */
  repairsBefore: number;
}

/** What holds for every phase that was started, by concern. */
export interface Attempt {
  number: number;
  startedAt: string;
  /** What the run had been at rest before it began. */
  atRestBefore: number;
  /** Where it works, and from where it began. */
  origin: {
    head: string;
    baseline: string;
    /** Paths the user had staged when the phase began: theirs to commit. */
    staged: string[];
    /** Undefined: in the run's own checkout. */
    worktree: Worktree | undefined;
  };
  progress: {
    sessions: string[];
    /** How many of them belong to earlier attempts. */
    sessionsBefore: number;
    tasksDone: string[];
    /** Those of them whose work is in a commit. */
    tasksCommitted: string[];
    /** Tasks done when the newest session began. */
    tasksAtSessionStart: number;
    /** Handovers in a row after which no further task was done. */
    idleHandovers: number;
  };
  trouble: {
    /** API errors in a row, and time-outs. */
    apiErrors: number;
    timeouts: number;
    /** How often it went round in circles since its last finished task. */
    circles: number;
    /** Tools it was refused since then, and how often. */
    refused: Readonly<Record<string, number>>;
    /** A session that was handed over and left nothing: no report, no decision, no commit. */
    emptySession: string | undefined;
    /** Its next session begins no earlier. */
    notBefore: string | undefined;
  };
  repairs: {
    count: number;
    /** Gates that failed, by round; lines changed after each repair. */
    failures: string[][];
    lines: number[];
  };
  judged: {
    /** What was found when all gates had passed, and what an independent session found. */
    inspected: { suspicions: Suspicion[]; unreported: string[] } | undefined;
    reviewed: CriterionVerdict[] | undefined;
    /** What its agent was asked about, as it was said. */
    asked: string[];
    /** The agent's words, where it wants a person to look. */
    human: string | undefined;
    /** A person accepted it although it failed. */
    accepted: boolean;
  };
  commits: {
    made: string[];
    /** Commits that were made, found needless or failed: the number of the next one follows from it. */
    finished: number;
    failure: PhaseFailure | undefined;
    /** What it left when it failed, in a commit on no branch: a further attempt brings it back. */
    aside: string | undefined;
    /** What was done so far is committed, so that others may work in the same checkout while a person is asked. */
    settled: boolean;
  };
  train: {
    merge: Merge | undefined;
    /** How often it was taken to the merge train, and the commit that brought it in. */
    merges: number;
    merged: string | undefined;
  };
  split: {
    /** The sub-phases it was split into. */
    parts: string[];
    /** A person said that it is not split. */
    refused: boolean;
  };
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
  /** How many things it complains about: failing tests, diagnostics. */
  issues?: number | undefined;
}

/** The name of the look that an agent asked for, among the gates. */
export const HUMAN = "human";

/** What a phase that is over leaves. */
export interface Left {
  sessions: string[];
  tasksDone: string[];
  commits: string[];
}

export type PhaseState =
  /** `before`: what an earlier attempt left, to go on from. */
  | { step: "waiting" | "starting"; number: number; before: Attempt | undefined; tasksInGit: string[] }
  | { step: "working"; attempt: Attempt; next: Next }
  | { step: "remediating"; attempt: Attempt; next: Next; failing: GateResult[] }
  | { step: "verifying"; attempt: Attempt; results: GateResult[] }
  /** An independent session judges it. */
  | { step: "reviewing"; attempt: Attempt; next: Next; results: GateResult[] }
  | { step: "committing"; attempt: Attempt; committed: boolean; results: GateResult[] }
  /** Committed in its worktree, and on its way to the run's branch. */
  | { step: "merging"; attempt: Attempt; results: GateResult[] }
  /** Its sub-phases do its work. */
  | { step: "split"; attempt: Attempt }
  | { step: "done"; verified: boolean; byUser: boolean; left: Left }
  | { step: "skipped"; left: Left }
  /** `settled`: what it left was looked after; `cleared`: it is not in the way of others in the run's checkout. */
  | {
      step: "failed";
      failure: PhaseFailure;
      last: Attempt | undefined;
      settled: boolean;
      cleared: boolean;
      /** Somebody changes its text, and it is tried again once they did. */
      revising: { until: string } | undefined;
    };

/** A phase that was started and is not over. */
export type Attempted = Extract<PhaseState, { attempt: Attempt }>;
/** One whose agent has the floor, or just lost it. */
export type WithAgent = Extract<PhaseState, { next: Next }>;

export const isOver = (phase: PhaseState): boolean =>
  phase.step === "done" || phase.step === "failed" || phase.step === "skipped";

export const isAttempted = (phase: PhaseState | undefined): phase is Attempted =>
  phase !== undefined && "attempt" in phase;

export const hasAgent = (phase: PhaseState): phase is WithAgent => "next" in phase;

/** What it is about now, or was about when it failed. */
export const lastAttempt = (phase: PhaseState | undefined): Attempt | undefined =>
  phase?.step === "failed" ? phase.last : isAttempted(phase) ? phase.attempt : undefined;

/** The newest commit that the journal knows of: whatever is on its branch beyond that, nobody else can rely on. */
export const standsOn = ({ commits, origin }: Attempt): string => commits.made.at(-1) ?? origin.head;

/** The attempt with some of one concern changed. */
export const revise = <K extends Concern>(attempt: Attempt, concern: K, change: Partial<Attempt[K]>): Attempt => ({
  ...attempt,
  [concern]: { ...attempt[concern], ...change },
});

type Concern = "origin" | "progress" | "trouble" | "repairs" | "judged" | "commits" | "train" | "split";

/** A phase that waits for its turn; `before`: what an earlier attempt left. */
export const waiting = (number = 1, before?: Attempt, tasksInGit: string[] = []): PhaseState => ({
  step: "waiting",
  number,
  before,
  tasksInGit,
});

export const verifying = (attempt: Attempt, results: GateResult[] = []): PhaseState => ({
  step: "verifying",
  attempt,
  results,
});

/** What the phase has to show so far: by this attempt, or by the ones before it. */
export function leftBy(phase: PhaseState): Left {
  if (phase.step === "done" || phase.step === "skipped") return phase.left;
  const isToStart = phase.step === "waiting" || phase.step === "starting";
  const attempt = isToStart ? phase.before : lastAttempt(phase);
  if (attempt === undefined) return { sessions: [], tasksDone: isToStart ? phase.tasksInGit : [], commits: [] };
  const { sessions, tasksDone } = attempt.progress;
  return { sessions, tasksDone, commits: attempt.commits.made };
}

/** Changes a phase that is under way; one that is not stays as it is. */
export function changePhase(state: Folding, id: string, change: (phase: Attempted) => PhaseState): void {
  const phase = stateOfPhase(state, id);
  if (isAttempted(phase)) setPhase(state, id, change(phase));
}

export const changeAttempt = (state: Folding, id: string, change: (attempt: Attempt) => Attempt): void =>
  changePhase(state, id, (phase) => ({ ...phase, attempt: change(phase.attempt) }));

export function phaseIssued(state: Folding, id: string): void {
  const phase = stateOfPhase(state, id);
  if (phase.step === "waiting") setPhase(state, id, { ...phase, step: "starting" });
}

/** A further attempt goes on from what the one before it left: it is the run's own work, not the user's. */
export function phaseStarted(state: Folding, event: FactOf<"phase-started"> & RunEvent): void {
  if (event.worktree === undefined) state.head = event.head;
  const phase = stateOfPhase(state, event.phase);
  // Skipped in the moment it was being started: it stays so.
  if (phase.step !== "starting") return;
  const { before } = phase;
  const { head, baseline, staged, worktree } = event;
  setPhase(state, event.phase, {
    step: "working",
    next: { type: "session" },
    attempt: {
      number: event.attempt,
      startedAt: event.at,
      atRestBefore: state.atRest,
      origin: { head, baseline, staged, worktree },
      progress: {
        sessions: before?.progress.sessions ?? [],
        sessionsBefore: before?.progress.sessions.length ?? 0,
        tasksDone: before?.progress.tasksDone ?? phase.tasksInGit,
        tasksCommitted: before?.progress.tasksCommitted ?? phase.tasksInGit,
        tasksAtSessionStart: 0,
        idleHandovers: 0,
      },
      trouble: { apiErrors: 0, timeouts: 0, circles: 0, refused: {}, emptySession: undefined, notBefore: undefined },
      repairs: { count: 0, failures: [], lines: [] },
      judged: { inspected: undefined, reviewed: undefined, asked: [], human: undefined, accepted: false },
      commits: { made: before?.commits.made ?? [], finished: 0, failure: undefined, aside: undefined, settled: false },
      train: { merge: undefined, merges: 0, merged: undefined },
      split: { parts: [], refused: false },
      skipping: false,
    },
  });
}

/** What was in no commit went with its worktree: it is to be done again. */
export function checkoutRemade(state: Folding, { phase, lost }: FactOf<"checkout-remade">): void {
  changeAttempt(state, phase, (attempt) =>
    revise(attempt, "progress", { tasksDone: attempt.progress.tasksDone.filter((task) => !lost.includes(task)) }),
  );
}

/** Its start came to nothing: it waits again. */
export function startAbandoned(state: Folding, { command }: FactOf<"command-abandoned">): void {
  for (const id of state.readiness.underWay) {
    const phase = stateOfPhase(state, id);
    if (phase.step === "starting" && `${id}/a${phase.number}/start` === command)
      setPhase(state, id, { ...phase, step: "waiting" });
  }
}
