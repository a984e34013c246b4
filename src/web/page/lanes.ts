/**
 * Where everything of the chart stands. One line per session, gaps between them. Where phases worked at the same time,
 * each has a lane of its own; else they share one. Long waits are cut short, and marked as such.
 */
import type { Board } from "../../view/board.js";
import type { Mark } from "../../view/history.js";
import type { BoardSession } from "../../view/readings.js";

export interface Line {
  session: BoardSession;
  /** Which phase of the chart it belongs to, for its colour. */
  index: number;
  path: string;
}

/** Marks that would stand on each other are one. */
export interface MarkGroup {
  x: number;
  marks: Mark[];
}

export interface Lane {
  /** Undefined: all of them share it. */
  phase: string | undefined;
  top: number;
  height: number;
  /** Where nothing, and where the most that is drawn, stands. */
  bottom: number;
  most: number;
  lines: Line[];
  /** Thresholds in it: where sessions are handed over, and from where at a natural boundary. */
  hard: number[];
  soft: number[];
  groups: MarkGroup[];
}

export interface Layout {
  width: number;
  height: number;
  phases: string[];
  lanes: Lane[];
  /** Where waits were cut short: in seconds. */
  cuts: { x: number; seconds: number }[];
  ticks: { x: number; t: number }[];
  xOf(t: number): number;
}

const LEFT = 52;
const RIGHT = 12;
const LABEL = 22;
const AXIS = 22;
const ALONE = 250;
const TOGETHER = 84;
const CUT = 26;
/** Marks closer than this are one. */
const APART = 18;
const LEAST_WAIT_S = 300;

export function layOut(board: Board, sessions: readonly BoardSession[], width: number): Layout {
  const begun = Date.parse(board.startedAt);
  const seconds = (at: string): number => (Date.parse(at) - begun) / 1_000;
  const spanOf = (session: BoardSession): [number, number] => [
    seconds(session.startedAt),
    seconds(session.endedAt ?? board.now),
  ];
  const phases = [...new Set(sessions.map(({ phase }) => phase))];
  const together = overlap(sessions, spanOf);
  const { xOf, cuts, ticks, isCut } = scale(momentsOf(sessions, spanOf), LEFT, Math.max(LEFT + 50, width - RIGHT));
  const names = together ? phases : [undefined];
  const height = together ? TOGETHER : ALONE;
  const lanes = names.map((phase, index): Lane => {
    const own = sessions.filter((session) => phase === undefined || session.phase === phase);
    const top = index * (height + LABEL) + LABEL;
    const bottom = top + height;
    const most = mostOf(own);
    const yOf = (tokens: number): number => bottom - (tokens / most) * height;
    return {
      phase,
      top,
      height,
      bottom,
      most,
      lines: own.map((session) => ({
        session,
        index: phases.indexOf(session.phase),
        path: pathOf(session, xOf, yOf, isCut),
      })),
      hard: distinct(own.map((session) => session.hard)),
      soft: distinct(own.map((session) => session.soft)),
      groups: grouped(
        board.marks
          .filter((mark) => isOf(mark, phase, phases, index))
          .map((mark) => ({ x: xOf(seconds(mark.at)), mark })),
      ),
    };
  });
  return { width, height: (lanes.at(-1)?.bottom ?? height + LABEL) + AXIS, phases, lanes, cuts, ticks, xOf };
}

/** Marks of the whole run stand in the first lane. */
const isOf = (mark: Mark, phase: string | undefined, phases: readonly string[], index: number): boolean =>
  mark.phase === undefined ? index === 0 : phase === undefined ? phases.includes(mark.phase) : mark.phase === phase;

const distinct = (values: readonly number[]): number[] => [...new Set(values)].filter((value) => value > 0);

/** Up to the threshold, which is always on the plot; where there is none, up to the window. */
const mostOf = (sessions: readonly BoardSession[]): number =>
  Math.max(1_000, ...sessions.map(({ hard, window, peak }) => Math.max(hard > 0 ? hard : window, peak))) * 1.06;

/** Broken where nothing ran for long. */
function pathOf(
  { points }: BoardSession,
  xOf: (t: number) => number,
  yOf: (tokens: number) => number,
  isCut: (from: number, to: number) => boolean,
): string {
  let path = "";
  for (let at = 0; at + 1 < points.length; at += 2) {
    const t = points[at] as number;
    const begins = at === 0 || isCut(points[at - 2] as number, t);
    path += `${begins ? "M" : "L"}${xOf(t).toFixed(1)} ${yOf(points[at + 1] as number).toFixed(1)}`;
  }
  return path;
}

/** When something was seen: readings, beginnings and ends. */
const momentsOf = (sessions: readonly BoardSession[], spanOf: (session: BoardSession) => [number, number]): number[] =>
  sessions
    .flatMap((session) => [...spanOf(session), ...session.points.filter((_, index) => index % 2 === 0)])
    .sort((a, b) => a - b);

/** Whether sessions of different phases were there at the same time. */
function overlap(sessions: readonly BoardSession[], spanOf: (session: BoardSession) => [number, number]): boolean {
  const spans = sessions.map((session) => ({ phase: session.phase, span: spanOf(session) }));
  spans.sort((a, b) => a.span[0] - b.span[0]);
  let last: { phase: string; end: number } | undefined;
  for (const { phase, span } of spans) {
    // A moment in which one ends and the next begins is none.
    if (last !== undefined && last.phase !== phase && span[0] < last.end - 1) return true;
    if (last === undefined || span[1] > last.end) last = { phase, end: span[1] };
  }
  return false;
}

interface Scale {
  xOf(t: number): number;
  /** Whether a wait that was cut short lies between these moments. */
  isCut(from: number, to: number): boolean;
  cuts: { x: number; seconds: number }[];
  ticks: { x: number; t: number }[];
}

/** Time to the right; what nobody worked in for long takes next to no room. */
function scale(moments: readonly number[], from: number, to: number): Scale {
  const pieces: { begin: number; end: number; cut: boolean }[] = [];
  for (const [index, moment] of moments.entries()) {
    const before = moments[index - 1] ?? moment;
    const cut = moment - before > LEAST_WAIT_S;
    const last = pieces.at(-1);
    if (cut || last === undefined || last.cut) pieces.push({ begin: before, end: moment, cut });
    else last.end = moment;
  }
  const cutCount = pieces.filter(({ cut }) => cut).length;
  const shown = pieces.filter(({ cut }) => !cut).reduce((sum, { begin, end }) => sum + end - begin, 0);
  const perSecond = Math.max(0, to - from - cutCount * CUT) / Math.max(1, shown);
  let x = from;
  const placed = pieces.map((piece) => {
    const start = x;
    x += piece.cut ? CUT : (piece.end - piece.begin) * perSecond;
    return { ...piece, start, width: x - start };
  });
  const xOf = (t: number): number => {
    const piece = placed.find(({ end }) => t <= end) ?? placed.at(-1);
    if (piece === undefined) return from;
    const part = piece.end === piece.begin ? 1 : (t - piece.begin) / (piece.end - piece.begin);
    return piece.start + Math.min(1, Math.max(0, part)) * piece.width;
  };
  const cuts = placed
    .filter(({ cut }) => cut)
    .map(({ start, begin, end }) => ({ x: start + CUT / 2, seconds: end - begin }));
  const isCut = (begin: number, end: number): boolean =>
    placed.some((piece) => piece.cut && piece.begin >= begin && piece.end <= end);
  return { xOf, isCut, cuts, ticks: ticksOf(placed) };
}

const TICK = 110;

function ticksOf(pieces: readonly { begin: number; end: number; start: number; width: number; cut: boolean }[]) {
  const ticks: { x: number; t: number }[] = [];
  for (const { begin, end, start, width, cut } of pieces) {
    if (cut) continue;
    const count = Math.max(1, Math.floor(width / TICK));
    for (let n = 0; n < count; n++) {
      const x = start + (n * width) / count;
      if (ticks.length === 0 || x - (ticks.at(-1)?.x ?? 0) >= TICK * 0.8)
        ticks.push({ x, t: begin + (n * (end - begin)) / count });
    }
  }
  return ticks;
}

function grouped(marks: readonly { x: number; mark: Mark }[]): MarkGroup[] {
  const groups: MarkGroup[] = [];
  for (const { x, mark } of marks.toSorted((a, b) => a.x - b.x)) {
    const last = groups.at(-1);
    if (last !== undefined && x - last.x < APART) last.marks.push(mark);
    else groups.push({ x, marks: [mark] });
  }
  return groups;
}
