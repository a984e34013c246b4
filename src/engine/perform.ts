/** One performer per command; the mapped type proves that none is missing. */
import type { Command } from "../run/command.js";
import type { HeldRun } from "./held-run.js";
import { commit } from "./perform/commit.js";
import { continueSession } from "./perform/continue-session.js";
import { endSession } from "./perform/end-session.js";
import { inspectPhase } from "./perform/inspect-phase.js";
import { mergePhase } from "./perform/merge-phase.js";
import { runGate } from "./perform/run-gate.js";
import { startPhase } from "./perform/start-phase.js";
import { startSession } from "./perform/start-session.js";
import type { CommandType, Performer } from "./performer.js";

const PERFORMERS: { [T in CommandType]: Performer<T> } = {
  "start-phase": startPhase,
  "start-session": startSession,
  "continue-session": continueSession,
  "end-session": endSession,
  "run-gate": runGate,
  "inspect-phase": inspectPhase,
  commit,
  "merge-phase": mergePhase,
};

export const perform = (held: HeldRun, command: Command): Promise<void> =>
  (PERFORMERS[command.type] as Performer<CommandType>)(held, command);
