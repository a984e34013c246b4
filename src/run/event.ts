/**
 * Facts of a run, past tense, each with its reason. The journal is a list of these and everything else is derived
 * from it. A change of meaning is a new version, upcast in `upcast.ts`.
 */
import type { Config } from "../config/schema.js";
import type { PhaseForecast } from "../context/forecast.js";
import type { LayerSizes } from "../context/layers.js";
import type { Sources } from "../context/meter.js";
import type { HandoverPoint, Rule } from "../context/policy.js";
import type { Reading } from "../context/reading.js";
import type { FormatName, Phase, Plan } from "../plan/model.js";
import type { Command, CommitKind, Purpose, SessionEnd, TurnKind } from "./command.js";
import type { FailureCategory, PhaseResult, Recommendation } from "./outcome.js";
import type { Choice, QuestionKind } from "./questions.js";
import type { TeamWorker } from "./team.js";

export const EVENT_VERSION = 2;

/** A body too large for the journal, named by its hash. */
export type BlobRef = `sha256:${string}`;

export interface Usage {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** Why a turn was stopped at a boundary. `reported`: the agent handed in what the turn was for. */
export type StopWhy =
  | "context"
  | "stuck"
  | "timeout"
  | "asked"
  | "window-too-small"
  | "stop-requested"
  | "paused"
  | "skipped"
  /** Its worker is about to end, or cannot go on with it: another does. */
  | "leaving"
  | "reported";

/** Why a run is stopped: what follows from it hangs on this, never on words. */
export type StopCause = "asked" | "usage-limit" | "budget" | "context" | "disk";

export type StuckKind = "repeated-call" | "repeated-error" | "alternating-edits" | "empty-session";

/** How one turn of an agent ended. */
export type TurnEnd =
  | { type: "finished" }
  | { type: "stopped"; why: StopWhy }
  /** `window`: what the model takes, where it says so. */
  | { type: "too-long"; window?: number | undefined }
  /** `until`: when a usage limit is lifted, where that is known. */
  | { type: "failed"; kind: FailedKind; message: string; until?: string | undefined }
  | { type: "timed-out"; what: "idle" | "tool"; message: string }
  /** It only waited for its model, and nobody wants its work any more. */
  | { type: "called-off"; message: string }
  | { type: "crashed"; message: string };

/** `api`: may work later. `request`: this conversation cannot go on. `auth`, `model`: nothing will, until a person acts. */
export type FailedKind = "api" | "request" | "limit" | "auth" | "model" | "other";

/** What a tool is for, whatever its agent calls it; `segno`: one of ours. */
export type ToolKind = "read" | "edit" | "shell" | "search" | "web" | "agent" | "segno" | "other";

export type SplitCause = "requested" | "forecast" | "repair" | "exhausted";

export interface Suspicion {
  kind: "fast-gate" | "tests-removed" | "tests-skipped" | "gate-changed" | "gate-weakened" | "no-change";
  text: string;
}

/** What an independent session found, criterion by criterion. */
export interface CriterionVerdict {
  criterion: string;
  passed: boolean;
  evidence: string;
  why: string;
}

interface OfPhase {
  phase: string;
  attempt: number;
}
interface OfSession extends OfPhase {
  session: string;
}

export type Fact =
  | {
      type: "run-started";
      run: string;
      mode: "run" | "rehearsal";
      plan: Plan;
      /** The form the user forced, if any: the plan is read again with it. */
      format?: FormatName | undefined;
      config: Config;
      parallel: number;
      /** Whether a failing gate keeps a phase from being done; a rehearsal only reports it. */
      gates: "block" | "report";
      /** The directory below the repository's top level in which the run was started; empty: the top level itself. */
      folder: string;
      branch: string;
      head: string;
      /** Somebody is at the terminal and can be asked. */
      attended?: boolean | undefined;
      /** Agents that may work here; without: all. */
      agents?: string[] | undefined;
      /** Phases the plan already marked as done: the user's word. */
      takenAsDone: string[];
      /** Phases the user did not select. */
      leftOut: string[];
      /** Tasks of open phases that are done already, by phase: commits of an earlier run say so, or the user ticked them. */
      tasksInGit: Record<string, string[]>;
      /** What an earlier run left for phases it could not finish. */
      handoffs?: Record<string, BlobRef> | undefined;
    }
  /** Another process took the run up: after an interruption, a stop or a failure. */
  | {
      type: "run-resumed";
      config: Config;
      /** Somebody can be asked about failures. */
      attended?: boolean | undefined;
      agents?: string[] | undefined;
      torn: number;
      swept: number;
      /** What the user changed and staged since the run came to rest, and the tree noted then. */
      usersPaths: string[];
      staged: string[];
      since?: string | undefined;
      /** Nobody asked for it: whoever conducted it had died. How often within ten minutes, and of what, if that is known. */
      revived?: { times: number; cause: string } | undefined;
    }
  /** The working tree as the run left it. */
  | { type: "tree-noted"; tree: string }
  /** The gates before the first phase: what was red already, and the numbers that must not decrease. */
  | {
      type: "gates-baselined";
      results: { command: string; name: string; passed: boolean; number?: number | undefined; ms: number }[];
    }
  /** Of an agent's account; without a name: of the run's own agent. */
  | {
      type: "limit-reached";
      agent?: string | undefined;
      /** Whose, where there may be others: on many machines. */
      account?: string | undefined;
      until: string;
      message: string;
    }
  | { type: "limit-lifted"; agent?: string | undefined }
  /** It does not work, and somebody else goes on with the phase: `until` a moment, or until a person has acted. */
  | {
      type: "agent-away";
      agent: string;
      phase: string;
      why: "down" | "refused";
      message: string;
      until?: string | undefined;
    }
  /** Many machines: who is there now; who was there, and has given no sign of life since. */
  | { type: "workers-seen"; workers: TeamWorker[]; lost: string[] }
  | { type: "run-taken"; worker: string; lease: number }
  /** `from`: who held it until then, and did not let it go. */
  | { type: "phase-taken"; phase: string; worker: string; lease: number; from?: string | undefined }
  | { type: "phase-leaving"; phase: string; worker: string; why: string }
  | { type: "phase-let-go"; phase: string; worker: string; why: string }
  | { type: "run-held"; hold: "paused"; by: string }
  | { type: "run-released"; hold: "paused"; by: string }
  /** The machine slept, or its clock was set: time passed that nobody worked in. */
  | { type: "clock-jumped"; seconds: number }
  | { type: "door-refused"; path: string; why: string }
  /** HEAD is no longer where the run left it, and does not descend from there. */
  | { type: "head-moved"; from: string; to: string }
  | { type: "skip-requested"; phase: string; by: string }
  /** What a failed phase left in the run's checkout is in a commit on no branch now; `stayed`: what is not its alone. */
  | {
      type: "phase-set-aside";
      command: string;
      phase: string;
      attempt: number;
      ref?: string | undefined;
      sha?: string | undefined;
      stayed: string[];
    }
  /** The user changed its text, as they said they would: it is tried again. */
  | { type: "phase-revised"; phase: string }
  | { type: "phase-skipped"; phase: string }
  | { type: "command-issued"; phase: string; command: Command }
  /** A command that was in flight when Segno ended and left no trace: decided anew. */
  | { type: "command-abandoned"; command: string; why: string }
  | { type: "stop-requested"; by: string; cause: StopCause }
  /** What each phase is expected to need, and on how many earlier phases here that rests. */
  | {
      type: "forecast-made";
      phases: PhaseForecast[];
      samples: number;
      /** What repairs needed here, for each thing that failed. */
      tokensPerIssue?: number | undefined;
      warnings: string[];
    }
  | {
      type: "question-asked";
      question: string;
      kind: QuestionKind;
      phase: string;
      session?: string | undefined;
      text: string;
      choices: readonly Choice[];
      fallback: string;
      minutes: number;
    }
  | { type: "question-answered"; question: string; phase: string; choice: string; by: string }
  /** A moment that someone waited for has come. */
  | { type: "time-reached"; moment: string }
  | ({
      type: "phase-started";
      command: string;
      head: string;
      baseline: string;
      staged: string[];
      /** Where it works, if not in the run's own checkout. */
      worktree?: { branch: string } | undefined;
    } & OfPhase)
  /**
   * Its worktree was deleted, and is there again at its last commit; what was reported since then is lost. `mergeLost`: what
   * it was merging is gone, too, with the machine it was on.
   */
  | ({ type: "checkout-remade"; branch: string; lost: string[]; mergeLost?: boolean | undefined } & OfPhase)
  /** It names files as its own that another names, too, which is under way: it waits for that one. */
  | { type: "phase-serialised"; phase: string; behind: string; files: string[] }
  /**
   * It is in the train: `base`, what its target has or what the phase before it would make of that, is in its worktree.
   * `candidate`: the merge commit that would be on the branch, where nothing conflicts.
   */
  | ({
      type: "merge-begun";
      command: string;
      base: string;
      tip: string;
      behind?: string | undefined;
      candidate?: string | undefined;
      conflicts: string[];
      sharing: string[];
      files?: string[] | undefined;
    } & OfPhase)
  /** All gates have passed on what would be on the branch. */
  | ({ type: "merge-tested"; candidate: string } & OfPhase)
  | ({
      type: "phase-merged";
      command: string;
      sha: string;
      into: string;
      /** What the phase changed. */
      files: string[];
      /** Files of the checkout that hold changes of the user's and were not brought along. */
      leftBehind: string[];
    } & OfPhase)
  | ({ type: "merge-failed"; command: string; why: string } & OfPhase)
  /** It is too large: from here on its sub-phases do its work. */
  | ({ type: "phase-split"; cause: SplitCause; reason: string; parts: Phase[] } & OfPhase)
  | ({
      type: "session-started";
      /** Who works; without: the run's own agent. */
      agent?: string | undefined;
      purpose: Purpose;
      prompt: BlobRef;
      promptTokens: number;
      /** The prompt's layers, in tokens, and what was left out. */
      layers?: LayerSizes | undefined;
      /** It goes on in the agent's own conversation. */
      resumed: boolean;
      /** How many sessions the phase may have, and how many handovers in a row brought no finished task. */
      most?: number | undefined;
      idle?: { count: number; most: number } | undefined;
    } & OfSession)
  /** `window`, `compactAt`: where they are known at once. */
  | ({
      type: "session-ready";
      agentSession: string;
      model: string;
      window?: number | undefined;
      compactAt?: number | undefined;
    } & OfSession)
  /** How large its window is, and where the agent compacts by itself. */
  /** `window`: what counts here; `whole`: all that the model takes; `hands`: where the session is handed over, and by which rule. */
  | ({
      type: "window-known";
      window: number;
      whole?: number | undefined;
      compactAt?: number | undefined;
      hands?: (HandoverPoint & { soft: number | "auto" | "off" }) | undefined;
    } & OfSession)
  | ({ type: "turn-started"; turn: TurnKind } & OfSession)
  | ({
      type: "call-made";
      call: string;
      model: string;
      usage: Usage;
      /** In dollars; undefined where the model's price is not known. */
      cost?: number | undefined;
      subagent: boolean;
      reading: Reading;
    } & OfSession)
  | ({
      type: "tool-finished";
      kind: ToolKind;
      tool: string;
      brief: string;
      ok: boolean;
      subagent: boolean;
      /** Short hashes of what it was called with and of what came back. */
      call?: string | undefined;
      result?: string | undefined;
    } & OfSession)
  /** The agent was not allowed to use a tool, and went on without. */
  | ({ type: "tool-refused"; tool: string; why: string } & OfSession)
  /** A session goes round in circles; `count`: how often in this phase since its last finished task. */
  | ({ type: "stuck-noticed"; kind: StuckKind; evidence: string; count: number } & OfSession)
  | ({ type: "progress-reported"; message: string; task?: string | undefined } & OfSession)
  | ({ type: "decision-recorded"; text: string } & OfSession)
  | ({ type: "result-reported"; result: PhaseResult } & OfSession)
  | ({
      type: "boundary-decided";
      why: StopWhy;
      /** Which rule of the context policy ended it, if one did, and its arithmetic. */
      rule?: Rule | undefined;
      reason: string;
      reading: Reading;
      threshold: number;
    } & OfSession)
  | ({ type: "context-warned"; level: number; reading: Reading } & OfSession)
  /** What filled the session's window, in tokens. */
  | ({
      type: "session-measured";
      firstPrompt: number;
      sources: Sources;
      reread: number;
      largestResult: number;
    } & OfSession)
  | ({ type: "compaction-blocked" } & OfSession)
  | ({ type: "compacted"; before: number; after?: number | undefined } & OfSession)
  /** What the agent handed over through its tool: kept before the agent hears so. */
  | ({ type: "checkpoint-reported"; handed: BlobRef } & OfSession)
  | ({
      type: "checkpoint-saved";
      /** As the next session would read it now. */
      checkpoint: BlobRef;
      /** What the agent handed over; undefined if nothing was. */
      handed?: BlobRef | undefined;
      source: "tool" | "block" | "answer" | "ledger";
      tokens: number;
      /** What the agent claims and git or the ledger contradicts. */
      contradictions: string[];
    } & OfSession)
  /** `said`: all the agent's words in it. */
  | ({ type: "turn-ended"; command: string; end: TurnEnd; said?: BlobRef | undefined } & OfSession)
  | ({
      type: "session-ended";
      command: string;
      reason: SessionEnd;
      message?: string | undefined;
      swept: number;
      /** Lines changed in the phase so far, after a repair. */
      lines?: number | undefined;
      /** A number from 0 to 1, so that not everyone tries again at the same moment. */
      chance?: number | undefined;
    } & OfSession)
  | ({
      type: "gate-finished";
      command: string;
      gate: string;
      name: string;
      round: number;
      passed: boolean;
      exit: number | null;
      ms: number;
      why: string;
      output: BlobRef;
      /** The last lines of it, where it did not pass, and how many things it complains about. */
      tail?: string | undefined;
      issues?: number | undefined;
      /** In a rehearsal: whether it also passes without the phase's work, and so proves nothing for it. */
      without?: boolean | undefined;
    } & OfPhase)
  | ({
      type: "commit-made";
      command: string;
      kind: CommitKind;
      sha: string;
      files: number;
      leftOut: string[];
      /** Where it is kept, if it is a snapshot and not on the branch. */
      ref?: string | undefined;
    } & OfPhase)
  | ({ type: "commit-skipped"; command: string; kind: CommitKind; why: string } & OfPhase)
  /** It holds what must not be committed, or a hook says no: as a failing gate it goes to repair. */
  | ({ type: "commit-refused"; command: string; kind: CommitKind; why: string; output: BlobRef } & OfPhase)
  | ({ type: "commit-failed"; command: string; kind: CommitKind; category: FailureCategory; why: string } & OfPhase)
  /** `seen`: what the files held, and will hold with marks, so that it is not taken for the user's word later. */
  | ({ type: "plan-edited-by-agent"; files: string[]; seen: string[] } & OfPhase)
  /** The user changed the plan between phases: what it is now, for phases that have not begun. */
  | { type: "plan-changed"; plan: Plan; added: string[]; removed: string[]; changed: string[] }
  | ({ type: "phase-done"; verified: boolean; tasksDone: string[] } & OfPhase)
  | ({ type: "phase-failed"; category: FailureCategory; message: string; recommendation: Recommendation } & OfPhase)
  | ({
      type: "phase-inspected";
      command: string;
      suspicions: Suspicion[];
      unreported: string[];
      undocumented: boolean;
    } & OfPhase)
  /** What would judge the phase was undermined: whoever did it is asked why, before its result counts. */
  | ({ type: "suspicion-raised"; suspicions: Suspicion[] } & OfSession)
  | ({ type: "verdict-reported"; verdicts: CriterionVerdict[] } & OfSession)
  | { type: "handoff-written"; phase: string; file: string }
  | { type: "warned"; message: string; phase?: string | undefined }
  | { type: "run-completed" }
  | { type: "run-failed"; phases: string[] }
  | { type: "run-stopped"; why: string };

export type FactType = Fact["type"];
export type FactOf<T extends FactType> = Extract<Fact, { type: T }>;

/**
 * A fact as the journal keeps it. `provisional`: folded by whoever appended it, and not yet where the journal lives; its
 * number and its time may still change, so nothing is decided by them. Never part of a journal.
 */
export type RunEvent = Fact & { v: number; seq: number; at: string; epoch: number; provisional?: true };
