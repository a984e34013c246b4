/**
 * Intentions. A command's id is derived from what it is for (`2/a1/session/3`), so that the same intention has the
 * same id after a crash; it is in the journal before it is performed, and in the world where it can be.
 */
export type Purpose = "work" | "remediate" | "verify" | "merge";
/** `go-on`: after a pause. */
export type TurnKind = "work" | "nudge" | "checkpoint" | "go-on";
/** `failed`: what a failed phase leaves, if the user wants it kept. `merge`: what others merged meanwhile, taken into its worktree. */
export type CommitKind = "handover" | "phase" | "failed" | "merge";

/** Why a session is over. */
export type SessionEnd =
  | "result"
  | "handed-over"
  /** It went round in circles, and was handed over. */
  | "stuck"
  | "stopped"
  | "skipped"
  | "no-result"
  | "context-full"
  | "window-too-small"
  /** A usage limit; its conversation goes on when it is lifted. */
  | "limit"
  /** The API failed, also after the agent's own retries. */
  | "api-error"
  /** The API refuses the login or the model. */
  | "refused"
  | "timeout"
  /** The agent ended by itself. */
  | "crashed"
  /** Segno ended, and the session with it. */
  | "killed";

interface OfPhase {
  id: string;
  phase: string;
  attempt: number;
}

export type Command =
  /** `apart`: in a worktree of its own. */
  | ({ type: "start-phase"; apart?: boolean | undefined } & OfPhase)
  | ({
      type: "start-session";
      session: string;
      purpose: Purpose;
      n: number;
      /** Who works; without: the run's own agent, with its model. */
      agent?: string | undefined;
      model?: string | undefined;
      /** The agent's own conversation to take up again, if it is still there. */
      resumes?: string | undefined;
      /** What is asked there first: to go on, or, where no room is left for more, to hand over what it knows. */
      opening: "work" | "checkpoint";
    } & OfPhase)
  | ({
      type: "continue-session";
      session: string;
      turn: Exclude<TurnKind, "work">;
      /** The session that will follow a checkpoint: its agent is started meanwhile. */
      next?: { session: string; purpose: Purpose; agent: string; model: string | undefined } | undefined;
    } & OfPhase)
  | ({ type: "end-session"; session: string; reason: SessionEnd } & OfPhase)
  | ({ type: "run-gate"; gate: string; round: number } & OfPhase)
  /** Looks at what a phase that passed its gates really changed. */
  | ({ type: "inspect-phase"; round: number } & OfPhase)
  | ({ type: "commit"; kind: CommitKind; n: number } & OfPhase)
  /**
   * Takes a finished phase into the train: on top of its target, or `onto` what another phase before it will make of that.
   * `lands`: the commit that was tested, once those before it are on the branch.
   */
  | ({
      type: "merge-phase";
      n: number;
      onto?: { phase: string; commit: string } | undefined;
      lands?: string | undefined;
    } & OfPhase);

export const commandId = (phase: string, attempt: number, ...rest: (string | number)[]): string =>
  [phase, `a${attempt}`, ...rest].join("/");
