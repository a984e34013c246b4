/** What is said at a boundary: the first reason in the list that speaks counts. */
import { describe, expect, test } from "vitest";
import { type AtBoundary, sayAtBoundary } from "../../src/run/boundary.js";
import { hoursOf } from "../../src/run/budget.js";
import { EVENT_VERSION, type Fact, type RunEvent } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import type { RunState } from "../../src/run/state.js";
import { onePhase, runStarted } from "../support/run-started.js";

const place = { phase: "1", attempt: 1, session: "1/a1/session/1" };
const usage = { input: 100, cacheRead: 0, cacheWrite: 0, output: 10 };
const reading = { tokens: 10_000, window: 200_000, percent: 5, source: "exact" as const, margin: 0 };

const STARTED: Fact[] = [
  runStarted(onePhase(), { max_tokens: 100_000, phase_timeout_minutes: 10 }),
  { type: "command-issued", phase: "1", command: { type: "start-phase", id: "1/a1/start", phase: "1", attempt: 1 } },
  { type: "phase-started", command: "1/a1/start", phase: "1", attempt: 1, head: "h", baseline: "b", staged: [] },
  {
    type: "command-issued",
    phase: "1",
    command: { type: "start-session", id: place.session, ...place, purpose: "work", n: 1, opening: "work" },
  },
  { type: "turn-started", ...place, turn: "work" },
];

function stateAfter(...more: Fact[]): RunState {
  let state: RunState | undefined;
  for (const [n, fact] of [...STARTED, ...more].entries())
    state = evolve(state, {
      v: EVENT_VERSION,
      seq: n + 1,
      at: "2026-01-01T00:00:00.000Z",
      epoch: 1,
      ...fact,
    } as RunEvent);
  return state as RunState;
}

const at = (more: Partial<AtBoundary> = {}): AtBoundary => ({
  ...place,
  reading,
  limits: { window: 200_000, whole: 200_000, compactAt: 167_000, reserve: 0 },
  firstPrompt: 8_000,
  firstSeen: 8_000,
  growth: 0,
  natural: undefined,
  toolCalls: 1,
  price: undefined,
  rereadBefore: [],
  circle: undefined,
  checkpointOver: false,
  ...more,
});

const FULL = at({ reading: { ...reading, tokens: 165_000, percent: 82.5 } });
const RESULT: Fact = {
  type: "result-reported",
  ...place,
  result: {
    status: "completed",
    summary: "s",
    tasks_completed: [],
    tasks_remaining: [],
    files_modified: [],
    decisions: [],
  },
};
const STOP: Fact = { type: "stop-requested", by: "test", cause: "asked" };
const SKIP: Fact = { type: "skip-requested", phase: "1", by: "test" };
const HELD: Fact = { type: "run-held", hold: "paused", by: "test" };
const LATE: Fact = { type: "time-reached", moment: "2026-01-01T00:11:00.000Z" };
/** Taken up again, and a moment at work after that. */
const weekLater = (minutes: number): Fact[] => [
  Object.assign(
    {
      type: "run-resumed" as const,
      config: stateAfter().config,
      attended: false,
      agents: undefined,
      torn: 0,
      swept: 0,
      staged: [],
      usersPaths: [],
      since: undefined,
      revived: undefined,
    },
    { at: "2026-01-08T00:00:00.000Z" },
  ),
  { type: "time-reached", moment: `2026-01-08T00:${String(minutes).padStart(2, "0")}:00.000Z` },
];
const SPENT: Fact = {
  type: "call-made",
  ...place,
  call: "c",
  model: "claude-sonnet-4-5",
  usage: { ...usage, input: 100_001 },
  subagent: false,
  reading,
};
const CIRCLE = { kind: "repeated-call" as const, text: "the same again" };

const types = ({ facts }: { facts: Fact[] }): string[] => facts.map(({ type }) => type);

describe("at a boundary", () => {
  test("nothing speaks: it goes on, and nothing is written", () => {
    expect(sayAtBoundary(stateAfter(), at())).toEqual({ stop: undefined, facts: [] });
  });

  // Each beats all that follow it.
  const reasons: [string, string, Fact[], AtBoundary][] = [
    ["reported", "reported", [RESULT], at()],
    ["skipped", "skipped", [SKIP], at()],
    ["stop-requested", "stop-requested", [STOP], at()],
    ["budget", "stop-requested", [SPENT], at()],
    ["timeout", "timeout", [LATE], at()],
    [
      "stuck",
      "stuck",
      [{ type: "stuck-noticed", ...place, kind: "repeated-call", evidence: "", count: 1 }],
      at({ circle: CIRCLE }),
    ],
    ["context", "context", [], FULL],
    ["paused", "paused", [HELD], at()],
  ];
  for (const [index, [name, why, facts]] of reasons.entries()) {
    for (const [other, , more, seen] of reasons.slice(index)) {
      test(`${name} counts before ${other}`, () => {
        const merged = { ...seen, circle: name === "stuck" || other === "stuck" ? CIRCLE : undefined };
        const full = name === "context" || other === "context" ? { ...merged, reading: FULL.reading } : merged;
        expect(sayAtBoundary(stateAfter(...facts, ...more), full).stop).toBe(why);
      });
    }
  }

  test("time in which nobody held the run counts for no limit; what follows does", () => {
    expect(sayAtBoundary(stateAfter(...weekLater(10)), at()).stop).toBeUndefined();
    expect(hoursOf(stateAfter(...weekLater(9)))).toBeCloseTo(0.15);
    expect(sayAtBoundary(stateAfter(...weekLater(11)), at()).stop).toBe("timeout");
  });

  test("the budget's stop is a fact of the run, said once", () => {
    expect(types(sayAtBoundary(stateAfter(SPENT), at()))).toEqual(["stop-requested", "boundary-decided"]);
    expect(types(sayAtBoundary(stateAfter(SPENT, STOP), at()))).toEqual(["boundary-decided"]);
  });

  test("a first circle is said and the session goes on; the second ends it", () => {
    const first = sayAtBoundary(stateAfter(), at({ circle: CIRCLE }));
    expect([first.stop, types(first)]).toEqual([undefined, ["stuck-noticed"]]);
    const second = sayAtBoundary(stateAfter(...first.facts), at({ circle: CIRCLE }));
    expect([second.stop, types(second)]).toEqual(["stuck", ["stuck-noticed", "boundary-decided"]]);
  });

  test("a first circle does not keep the context from being handed over", () => {
    const said = sayAtBoundary(stateAfter(), { ...FULL, circle: CIRCLE });
    expect([said.stop, types(said)]).toEqual(["context", ["stuck-noticed", "boundary-decided"]]);
  });

  test("in a checkpoint turn nothing else counts: it ends with what it was for", () => {
    const asked = stateAfter({ type: "turn-started", ...place, turn: "checkpoint" }, STOP, HELD);
    expect(sayAtBoundary(asked, FULL)).toEqual({ stop: undefined, facts: [] });
    expect(sayAtBoundary(asked, { ...FULL, checkpointOver: true })).toEqual({ stop: "reported", facts: [] });
  });
});
