/** What follows a session that did not end by itself. */
import { describe, expect, test } from "vitest";
import { decide } from "../../src/run/decide.js";
import { EVENT_VERSION, type Fact, type RunEvent } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import type { RunState } from "../../src/run/state.js";
import { onePhase, runStarted } from "../support/run-started.js";

const place = { phase: "1", attempt: 1, session: "1/a1/session/1" };

/** A session of this size met a usage limit, and it is lifted so many minutes later. */
function afterLimit(tokens: number, minutes: number, reason: "limit" | "killed" = "limit", then: Fact[] = []) {
  const began = Date.parse("2026-01-01T00:00:00.000Z");
  const reading = { tokens, window: 200_000, percent: 10, source: "exact" as const, margin: 0 };
  const call = (n: number, cacheWrite: number) => ({
    type: "call-made" as const,
    ...place,
    call: `c${n}`,
    model: "m",
    usage: { input: 0, cacheRead: 0, cacheWrite, output: 10 },
    subagent: false,
    reading,
  });
  const facts: [number, Fact][] = [
    [0, runStarted(onePhase())],
    [
      0,
      {
        type: "command-issued",
        phase: "1",
        command: { type: "start-phase", id: "1/a1/start", phase: "1", attempt: 1 },
      },
    ],
    [0, { type: "phase-started", command: "1/a1/start", phase: "1", attempt: 1, head: "h", baseline: "b", staged: [] }],
    [
      0,
      {
        type: "command-issued",
        phase: "1",
        command: { type: "start-session", id: place.session, ...place, purpose: "work", n: 1, opening: "work" },
      },
    ],
    [0, { type: "turn-started", ...place, turn: "work" }],
    [0, { type: "session-ready", ...place, agentSession: "conversation", model: "m", window: 200_000 }],
    [0, call(1, 20_000)],
    [0, call(2, 100)],
    [0, { type: "turn-ended", command: place.session, ...place, end: { type: "finished" } }],
    [0, { type: "session-ended", command: `${place.session}/end`, ...place, reason, message: undefined, swept: 0 }],
    ...(reason === "limit"
      ? ([[0, { type: "limit-reached", until: new Date(began + minutes * 60_000).toISOString(), message: "l" }]] as [
          number,
          Fact,
        ][])
      : []),
    [
      0,
      {
        type: "commit-skipped",
        command: "1/a1/commit/1",
        phase: "1",
        attempt: 1,
        kind: "handover",
        why: "nothing changed",
      },
    ],
    ...then.map((fact): [number, Fact] => [0, fact]),
    [minutes, reason === "limit" ? { type: "limit-lifted" } : { type: "clock-jumped", seconds: 0 }],
  ];
  let state: RunState | undefined;
  for (const [n, [at, fact]] of facts.entries())
    state = evolve(state, {
      v: EVENT_VERSION,
      seq: n + 1,
      at: new Date(began + at * 60_000).toISOString(),
      epoch: 1,
      ...fact,
    } as RunEvent);
  const [first] = decide(state as RunState);
  return first?.type === "perform" && first.command.type === "start-session" ? first.command : undefined;
}

describe("a session that did not end by itself", () => {
  test("goes on in its own conversation while its cache is warm", () => {
    expect(afterLimit(150_000, 4)).toMatchObject({ resumes: "conversation" });
    expect(afterLimit(150_000, 4, "killed")).toMatchObject({ resumes: "conversation" });
  });

  test("after a longer wait begins afresh: all of a cold conversation would be paid for again", () => {
    const fresh = afterLimit(150_000, 60);
    expect(fresh).toMatchObject({ type: "start-session", opening: "work" });
    expect(fresh?.resumes).toBeUndefined();
    expect(afterLimit(150_000, 60, "killed")?.resumes).toBeUndefined();
  });

  test("but for one that holds no more than a fresh one would need", () => {
    expect(afterLimit(22_500, 60)).toMatchObject({ resumes: "conversation" });
    expect(afterLimit(23_500, 60)?.resumes).toBeUndefined();
  });

  test("what it did is gone with its checkout: nobody goes on in a conversation that takes it for done", () => {
    const remade = { type: "checkout-remade" as const, phase: "1", attempt: 1, branch: "segno/r/1", lost: [] };
    const fresh = afterLimit(150_000, 4, "killed", [remade]);
    expect(fresh).toMatchObject({ opening: "work" });
    expect(fresh?.resumes).toBeUndefined();
  });
});
