/**
 * A run as every screen shows it, plain data: how it stands (from its state) and what happened (from its history). The
 * terminal, the web page, the report and `--json` all read this. A page that opens late gets both as they are, and goes
 * on folding the events that follow.
 */

import { allotPromptBudget } from "../context/layers.js";
import { promptBudget } from "../context/prompt-budget.js";
import type { RunEvent } from "../run/event.js";
import { evolve } from "../run/evolve.js";
import type { RunState } from "../run/state.js";
import { windowSeen } from "../run/window.js";
import { contextReport } from "./context-report.js";
import { addFigures, foldHistory, type History, noHistory, type PhaseHistory } from "./history.js";
import { type PhaseStanding, type Standing, standingOf } from "./status.js";

export type BoardPhase = PhaseStanding & PhaseHistory;

export interface Board extends Omit<Standing, "phases">, Omit<History, "phases" | "rules"> {
  phases: BoardPhase[];
  budget: { cost_usd: number; tokens: number; hours: number };
  prompt_budget: number;
  /** What each phase may use of it, and what is held back. */
  allotment: { phases: Record<string, number>; debugging: number; overflow: number };
  /** After the phase that ended last: what filled its windows, and what the run has used so far. */
  report: { phase: string; lines: string[] } | undefined;
}

export function boardOf(state: RunState, history: History): Board {
  const { config, plan } = state;
  const standing = standingOf(state);
  const budget = promptBudget(config.prompt_budget, windowSeen(state));
  const { phases, debugging, overflow } = allotPromptBudget(config.budget_strategy, plan.phases, budget);
  const { rules: _, phases: figures, ...happened } = history;
  const all = standing.phases.map((phase) => ({ ...phase, ...withParts(phase, standing.phases, figures) }));
  return {
    ...standing,
    ...happened,
    phases: all,
    report: reportOf(all, budget),
    budget: { cost_usd: config.max_cost_usd, tokens: config.max_tokens, hours: config.max_hours },
    prompt_budget: budget,
    allotment: { phases: Object.fromEntries(phases), debugging, overflow },
  };
}

function reportOf(phases: readonly BoardPhase[], budget: number): Board["report"] {
  let last: BoardPhase | undefined;
  for (const phase of phases)
    if (phase.endedAt !== undefined && phase.sessions > 0 && phase.endedAt >= (last?.endedAt ?? "")) last = phase;
  return last === undefined
    ? undefined
    : { phase: last.id, lines: contextReport({ phases, prompt_budget: budget }, last.id) };
}

/** What sub-phases used, of whatever depth, is their phase's, too. */
function withParts(
  { id, parts }: PhaseStanding,
  all: readonly PhaseStanding[],
  figures: Readonly<Record<string, PhaseHistory>>,
): PhaseHistory {
  const below = all.filter((phase) => parts.includes(phase.id)).map((phase) => withParts(phase, all, figures));
  return [figures[id] ?? noHistory(), ...below].reduce(addFigures);
}

/** A run that is looked at: takes its events, one after the other, and shows the board. */
export class RunView {
  #state: RunState | undefined;
  #held: (() => RunState) | undefined;
  #history: History | undefined;
  #board: Board | undefined;

  constructor(from?: { state: RunState; history: History }) {
    this.#state = from?.state;
    this.#history = from?.history;
  }

  take(event: RunEvent): void {
    if (this.#held === undefined) this.#state = evolve(this.#state, event);
    this.#history = foldHistory(this.#history, event);
    this.#board = undefined;
  }

  /** From here on whoever conducts the run folds its state: it is not folded twice. */
  follow(held: () => RunState): void {
    this.#held = held;
  }

  get seq(): number {
    return this.#history?.seq ?? 0;
  }

  /** What is needed to go on elsewhere; undefined before the first event. */
  get folded(): { state: RunState; history: History } | undefined {
    const state = this.#held?.() ?? this.#state;
    return state === undefined || this.#history === undefined ? undefined : { state, history: this.#history };
  }

  /** Undefined before the first event. */
  get board(): Board | undefined {
    const { folded } = this;
    if (folded !== undefined) this.#board ??= boardOf(folded.state, folded.history);
    return this.#board;
  }
}
