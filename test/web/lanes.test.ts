/** Where everything of the chart stands. */
import { describe, expect, test } from "vitest";
import type { Board } from "../../src/view/board.js";
import type { BoardSession } from "../../src/view/readings.js";
import { layOut } from "../../src/web/page/lanes.js";

const at = (seconds: number): string => new Date(Date.parse("2026-01-01T00:00:00Z") + seconds * 1_000).toISOString();
const session = (phase: string, n: number, from: number, to: number): BoardSession => ({
  id: `${phase}/a1/session/${n}`,
  phase,
  purpose: "work",
  agent: undefined,
  model: undefined,
  startedAt: at(from),
  endedAt: at(to),
  reason: "result",
  window: 200_000,
  hard: 160_000,
  soft: 130_000,
  tokens: 90_000,
  peak: 90_000,
  calls: 2,
  points: [from, 20_000, to, 90_000],
  step: 1,
  seen: 2,
});
const board = (sessions: BoardSession[], marks: Board["marks"] = []): Board =>
  ({ startedAt: at(0), now: at(9_999), sessions, marks, phases: [] }) as unknown as Board;

describe("the chart", () => {
  test("phases one after the other share a lane; every session is a line of its own, within the plot", () => {
    const sessions = [session("1", 1, 0, 100), session("1", 2, 101, 200), session("2", 1, 201, 300)];
    const { lanes, cuts } = layOut(board(sessions), sessions, 1_000);
    expect(lanes.map(({ phase }) => phase)).toEqual([undefined]);
    expect(lanes[0]?.lines.map(({ path }) => path.match(/M/g)?.length)).toEqual([1, 1, 1]);
    for (const { path } of lanes[0]?.lines ?? [])
      for (const [, x = "", y = ""] of path.matchAll(/[ML](\S+) (\S+?)(?=[L]|$)/g)) {
        expect(Number(x)).toBeLessThanOrEqual(1_000);
        expect(Number(y)).toBeLessThanOrEqual(lanes[0]?.bottom ?? 0);
      }
    expect(cuts).toEqual([]);
    expect(lanes[0]?.most).toBeGreaterThan(160_000);
  });

  test("phases at the same time have a lane each", () => {
    const sessions = [session("1", 1, 0, 100), session("2", 1, 50, 200), session("3", 1, 201, 250)];
    const { lanes } = layOut(board(sessions), sessions, 1_000);
    expect(lanes.map(({ phase, lines }) => [phase, lines.length])).toEqual([
      ["1", 1],
      ["2", 1],
      ["3", 1],
    ]);
    for (const [index, lane] of lanes.entries()) expect(lane.top).toBeGreaterThan(lanes[index - 1]?.bottom ?? 0);
  });

  test("a long wait takes next to no room, and is said", () => {
    const sessions = [session("1", 1, 0, 100), session("1", 2, 7_300, 7_400)];
    const { cuts, xOf } = layOut(board(sessions), sessions, 1_000);
    expect(cuts.map(({ seconds }) => seconds)).toEqual([7_200]);
    expect(xOf(7_300) - xOf(100)).toBeLessThan(40);
    expect(xOf(100) - xOf(0)).toBeGreaterThan(300);
    expect(xOf(7_400)).toBeLessThanOrEqual(1_000);
  });

  test("a wait in the middle of a session breaks its line", () => {
    const waited = { ...session("1", 1, 0, 8_000), points: [0, 20_000, 100, 30_000, 7_900, 31_000, 8_000, 40_000] };
    const { lanes, cuts } = layOut(board([waited]), [waited], 1_000);
    expect(cuts).toHaveLength(1);
    expect(lanes[0]?.lines[0]?.path.match(/M/g)).toHaveLength(2);
  });

  test("marks that would stand on each other are one", () => {
    const points = Array.from({ length: 11 }, (_, n) => [n * 100, 20_000]).flat();
    const sessions = [{ ...session("1", 1, 0, 1_000), points }];
    const mark = (seconds: number): Board["marks"][number] => ({
      at: at(seconds),
      kind: "handover",
      phase: "1",
      tokens: undefined,
      text: "x",
    });
    const { lanes } = layOut(board(sessions, [mark(100), mark(101), mark(600)]), sessions, 1_000);
    expect(lanes[0]?.groups.map(({ marks }) => marks.length)).toEqual([2, 1]);
    const [first, second] = lanes[0]?.groups ?? [];
    expect((second?.x ?? 0) - (first?.x ?? 0)).toBeGreaterThan(18);
  });
});
