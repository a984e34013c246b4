/** The parts of the screen as text: what fits where is decided here, colours elsewhere. */

import type { Board, BoardPhase } from "../view/board.js";
import { percentsOf, sparkline } from "../view/markdown-report.js";
import { thousands } from "../view/numbers.js";
import { type BoardSession, percentOf } from "../view/readings.js";
import { width as columns } from "../view/width.js";

export const SYMBOLS: Record<BoardPhase["status"], string> = {
  pending: "○",
  running: "◐",
  stopped: "◐",
  done: "●",
  failed: "✗",
  skipped: "»",
};

/** Cut or filled to exactly this many columns. */
export function cut(text: string, width: number): string {
  const plain = text.replaceAll(/\p{Cc}+/gu, " ");
  const wide = columns(plain);
  if (wide <= width) return plain + " ".repeat(width - wide);
  let kept = "";
  let used = 0;
  // Whole characters as people see them: half of a wide one would shift the line.
  for (const { segment } of SEGMENTS.segment(plain)) {
    const more = columns(segment);
    if (used + more > width - 1) break;
    kept += segment;
    used += more;
  }
  return width <= 0 ? "" : `${kept}…${" ".repeat(width - 1 - used)}`;
}

const SEGMENTS = new Intl.Segmenter();

/** How full the window is, with the soft and the hard mark in it. */
export function gauge(session: BoardSession, width: number): string {
  const { tokens, window, hard, soft } = session;
  const at = (n: number) => Math.min(width - 1, Math.round((n / Math.max(1, window)) * width));
  const cells: string[] = Array.from({ length: width }, (_, index) => (index < at(tokens) ? "█" : "░"));
  if (soft > 0) cells[at(soft)] = "╎";
  if (hard > 0) cells[at(hard)] = "┃";
  return cells.join("");
}

export interface PhaseRow {
  id: string;
  status: BoardPhase["status"];
  name: string;
  rest: string;
}

/** A row per phase; where not all cut, those around the first that is not over. */
export function phaseRows(
  board: Board,
  rows: number,
  width: number,
): { rows: PhaseRow[]; above: number; below: number } {
  const { phases } = board;
  const current = Math.max(
    0,
    phases.findIndex(({ status }) => status === "running" || status === "pending"),
  );
  const first = Math.max(0, Math.min(phases.length - rows, current - Math.floor(rows / 2)));
  const shown = phases.slice(first, first + rows);
  const wide = width >= 100;
  return {
    rows: shown.map((phase) => phaseRow(board, phase, wide)),
    above: first,
    below: Math.max(0, phases.length - first - shown.length),
  };
}

function phaseRow(board: Board, phase: BoardPhase, wide: boolean): PhaseRow {
  const asked = board.questions.some((question) => question.phase === phase.id);
  const state = asked
    ? "asks"
    : phase.doing || (phase.status === "done" && !phase.verified ? "unverified" : phase.status);
  const session = board.sessions.findLast(({ id }) => id === phase.live);
  const full =
    session === undefined
      ? `peak ${String(Math.round(phase.peak_percent)).padStart(3)} %`
      : `now  ${String(percentOf(session)).padStart(3)} %`;
  const parts = [
    cut(state, 12),
    cut(`${phase.tasks.done}/${phase.tasks.total}`, 6),
    phase.sessions > 0 ? full : " ".repeat(10),
  ];
  if (wide) {
    parts.push(cut(phase.sessions > 0 ? `${phase.sessions} sessions` : "", 12));
    parts.push(cut(phase.tokens.total > 0 ? thousands(phase.tokens.total) : "", 7));
    parts.push(cut(sparkline(percentsOf(board, phase.id), 24), 24));
  }
  const name = `${phase.part_of === undefined ? "" : "↳ "}${phase.id} ${phase.title}${phase.worker === undefined ? "" : ` @${phase.worker}`}`;
  return { id: phase.id, status: phase.status, name, rest: parts.join(" ") };
}

/** The sessions that have the floor. */
export function currentSessions(board: Board, most: number): BoardSession[] {
  const live = board.phases.flatMap(({ live: id }) => board.sessions.findLast((session) => session.id === id) ?? []);
  return live.slice(0, most);
}

export function gaugeLine(session: BoardSession, width: number): string {
  const label = `phase ${session.phase} ${session.purpose} `;
  const figures = ` ${String(percentOf(session)).padStart(3)} %  ${thousands(session.tokens)} of ${thousands(session.window)}`;
  return `${label}${gauge(session, Math.max(10, width - label.length - figures.length))}${figures}`;
}

/** The sawtooth of all that was, ending now. */
export const sawtooth = (board: Board, width: number): string => sparkline(percentsOf(board), width).slice(-width);

export function budgetLine({ spent, budget }: Board): string {
  const cost = spent.cost_usd === undefined ? "cost unknown" : `$${spent.cost_usd.toFixed(2)} of $${budget.cost_usd}`;
  return `${thousands(spent.total)} of ${thousands(budget.tokens)} tokens   ${cost}   ${spent.calls} calls`;
}
