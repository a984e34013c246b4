/** A command to perform, or a conclusion that is a fact as soon as it is drawn. */
import type { Command } from "./command.js";
import type { Fact } from "./event.js";
import type { PhaseFailure } from "./outcome.js";

export type Decision = { type: "perform"; command: Command } | { type: "conclude"; fact: Fact };

export const perform = (command: Command): Decision => ({ type: "perform", command });

export const conclude = (fact: Fact): Decision => ({ type: "conclude", fact });

export const failPhase = (phase: string, attempt: number, failure: PhaseFailure): Decision =>
  conclude({ type: "phase-failed", phase, attempt, ...failure });

export const skipPhase = (phase: string): Decision => conclude({ type: "phase-skipped", phase });
