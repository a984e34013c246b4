/** The figures of a run, as `--json`, `status` and the summary show them. */
import type { RunEvent } from "../run/event.js";
import { type Board, foldBoard, type OpenQuestion, type PhaseFigures } from "./board.js";

export interface RunFigures {
  run: string;
  plan: string;
  title: string;
  status: Board["status"];
  phases: PhaseFigures[];
  warnings: string[];
  questions: OpenQuestion[];
  prompt_budget: number;
  /** What each phase may use of it, and what is held back. */
  allotment: Board["allotment"];
}

export class RunReport {
  #board: Board | undefined;

  take(event: RunEvent): void {
    this.#board = foldBoard(this.#board, event);
  }

  get board(): Board {
    if (this.#board === undefined) throw new Error("the journal has no run-started yet");
    return this.#board;
  }

  get figures(): RunFigures {
    return figuresOf(this.board);
  }
}

export function figuresOf(board: Board): RunFigures {
  const { run, plan, title, status, warnings, questions, prompt_budget, allotment } = board;
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
  return { run, plan, title, status, phases, warnings, questions, prompt_budget, allotment };
}
