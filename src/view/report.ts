/** The figures of a run, as `--json`, `status` and the summary show them. */
import type { Board, BoardPhase } from "./board.js";
import type { Notice } from "./history.js";
import type { OpenQuestion } from "./status.js";

export type PhaseFigures = Omit<
  BoardPhase,
  "dependsOn" | "file" | "tasksDone" | "startedAt" | "endedAt" | "doing" | "live"
>;

export interface RunFigures {
  run: string;
  plan: string;
  title: string;
  mode: Board["mode"];
  status: Board["status"];
  phases: PhaseFigures[];
  notices: Notice[];
  questions: OpenQuestion[];
  prompt_budget: number;
  /** What each phase may use of it, and what is held back. */
  allotment: Board["allotment"];
}

export function figuresOf(board: Board): RunFigures {
  const { run, plan, title, mode, status, notices, questions, prompt_budget, allotment } = board;
  const phases = board.phases.map(
    ({
      dependsOn: _,
      file: _______,
      tasksDone: __,
      startedAt: ___,
      endedAt: ____,
      doing: _____,
      live: ______,
      ...phase
    }) => phase,
  );
  return { run, plan, title, mode, status, phases, notices, questions, prompt_budget, allotment };
}
