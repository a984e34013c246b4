/** The board's readings as the chart wants them: one line per phase, broken between sessions. */
import type { Board } from "../../view/board.js";
import type { BoardSession } from "../../view/readings.js";

export interface Series {
  phase: string;
  sessions: BoardSession[];
}

export interface Point {
  t: number;
  tokens: number;
  session: BoardSession;
}

export function seriesOf(board: Board): Series[] {
  const byPhase = new Map<string, BoardSession[]>();
  for (const session of board.sessions) {
    if (session.points.length === 0) continue;
    byPhase.set(session.phase, [...(byPhase.get(session.phase) ?? []), session]);
  }
  return [...byPhase].map(([phase, sessions]) => ({ phase, sessions }));
}

export function pointsOf(series: readonly Series[]): Point[] {
  const points: Point[] = [];
  for (const { sessions } of series)
    for (const session of sessions)
      for (let at = 0; at < session.points.length; at += 2)
        points.push({ t: session.points[at] as number, tokens: session.points[at + 1] as number, session });
  return points.sort((a, b) => a.t - b.t);
}

const MOST = 12_000;

/** Aligned columns: `undefined` where a line has no reading then, `null` where it is broken. */
export function columnsOf(series: readonly Series[]): (number | null | undefined)[][] {
  const total = pointsOf(series).length;
  const every = Math.max(1, Math.ceil(total / MOST));
  const rows: [number, number, number | null][] = [];
  for (const [index, { sessions }] of series.entries()) {
    for (const session of sessions) {
      const last = session.points.length - 2;
      for (let at = 0; at <= last; at += 2) {
        if ((at / 2) % every !== 0 && at !== last) continue;
        rows.push([session.points[at] as number, index, session.points[at + 1] as number]);
      }
      rows.push([(session.points[last] ?? 0) + 0.01, index, null]);
    }
  }
  rows.sort((a, b) => a[0] - b[0]);
  const columns: (number | null | undefined)[][] = [[], ...series.map(() => [])];
  for (const [t, index, tokens] of rows) {
    const times = columns[0] as number[];
    const at = times.at(-1) === t ? times.length - 1 : times.push(t) - 1;
    (columns[index + 1] as (number | null | undefined)[])[at] = tokens;
  }
  const length = columns[0]?.length ?? 0;
  for (const column of columns) column.length = length;
  return columns;
}
