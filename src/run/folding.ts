/** The state, as only its folding may treat it. */
import type { Absence } from "./choosing.js";
import type { Command } from "./command.js";
import type { PhaseState } from "./phase.js";
import type { Question } from "./questions.js";
import type { SessionState } from "./session.js";
import type { RunState } from "./state.js";

export type Folding = { -readonly [K in keyof RunState]: RunState[K] } & {
  phases: Map<string, PhaseState>;
  sessions: Map<string, SessionState>;
  questions: Map<string, Question>;
  inFlight: Map<string, Command>;
  away: Map<string, Absence>;
  parents: Map<string, string>;
  merged: Map<string, readonly string[]>;
  mergedAs: Map<string, string>;
  usersPaths: Map<string, string>;
  gateTimes: Map<string, readonly number[]>;
  serialised: Set<string>;
};
