/** What screens say is what the state says, in whatever world. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../src/run/event.js";
import type { RunState } from "../../src/run/state.js";
import { type Board, RunView } from "../../src/view/board.js";
import { pack, unpack } from "../../src/view/pack.js";
import { anyChoices, anyLimits, anyPlan, simulate } from "../support/simulation.js";

const OVER = ["done", "failed", "skipped"];

function expectSame(board: Board, state: RunState): void {
  expect(board.status).toBe(state.status === "running" && state.hold === "paused" ? "paused" : state.status);
  expect(board.stopping).toBe(state.stopping !== undefined);
  const working = [...state.sessions.values()].some(({ step }) => step !== "ended");
  const untils = [...state.away.values()].flatMap(({ until }) => until ?? []).sort();
  expect(board.limit?.until).toBe(working ? undefined : untils[0]);
  const open = [...state.questions.values()].filter(({ answer }) => answer === undefined);
  if (state.status === "running") {
    expect(board.questions.map(({ id, until }) => [id, until])).toEqual(open.map(({ id, until }) => [id, until]));
  } else expect(board.questions).toEqual([]);
  expect(board.phases.map(({ id }) => id)).toEqual(state.plan.phases.map(({ id }) => id));
  const begun = state.status === "running" ? "running" : "stopped";
  for (const phase of board.phases) {
    const now = state.phases.get(phase.id);
    if (now === undefined) throw new Error(`no phase ${phase.id}`);
    const expected = OVER.includes(now.step) ? now.step : now.step === "waiting" ? "pending" : begun;
    expect(phase.status).toBe(expected);
    expect(phase.failure?.category).toBe(now.step === "failed" ? now.failure.category : undefined);
    expect(phase.verified).toBe(now.step === "done" && now.verified);
    if (now.step === "done" && !now.byUser) expect(new Set(phase.tasksDone)).toEqual(new Set(now.left.tasksDone));
    const running = "next" in now && now.next.type === "running" ? now.next.session : undefined;
    expect(phase.live).toBe(running);
  }
}

describe("the board", () => {
  test("every status on it equals the state's, after every event of any run", () => {
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, (plan, limits, choices) => {
        const view = new RunView();
        simulate(plan, limits, choices, (state, event) => {
          view.take(structuredClone(event));
          if (view.board === undefined) throw new Error("no board");
          expectSame(view.board, state);
        });
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 50) },
    );
  });

  test("packed in the middle and folded on elsewhere it is the same", () => {
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, fc.nat(), (plan, limits, choices, cut) => {
        const { events } = simulate(plan, limits, choices);
        const fold = (view: RunView, some: readonly RunEvent[]) => {
          for (const event of structuredClone(some)) view.take(event);
          return view;
        };
        const at = (cut % events.length) + 1;
        const { folded } = fold(new RunView(), events.slice(0, at));
        if (folded === undefined) throw new Error("nothing was folded");
        const elsewhere = fold(new RunView(unpack(pack(folded))), events.slice(at));
        expect(elsewhere.board).toEqual(JSON.parse(JSON.stringify(fold(new RunView(), events).board)));
      }),
      { numRuns: 60 },
    );
  });

  test("warnings, refused commits, suspicions, circles and forecast warnings are one list, each once", () => {
    const [plan] = fc.sample(anyPlan, 1);
    if (plan === undefined) throw new Error("no plan");
    const { events } = simulate(
      plan,
      { parallel: 1, max_restarts: 3, max_sessions_per_phase: 6, max_remediations: 2 },
      [],
    );
    const view = new RunView();
    const [first] = events;
    if (first === undefined) throw new Error("no event");
    view.take(first);
    const place = { phase: "1", attempt: 1, session: "1/a1/session/1" };
    const facts = [
      { type: "warned", message: "a warning" },
      { type: "warned", message: "a warning" },
      { type: "forecast-made", phases: [], samples: 0, warnings: ["it will be large"] },
      {
        type: "commit-refused",
        command: "c",
        phase: "1",
        attempt: 1,
        kind: "phase",
        why: "a secret",
        output: "sha256:",
      },
      { type: "stuck-noticed", ...place, kind: "repeated-call", evidence: "the same again", count: 1 },
      {
        type: "phase-inspected",
        command: "i",
        phase: "1",
        attempt: 1,
        suspicions: [{ kind: "tests-removed", text: "3 tests were removed" }],
        unreported: [],
        undocumented: false,
      },
    ];
    for (const [n, fact] of facts.entries())
      view.take({ v: 2, seq: n + 2, at: first.at, epoch: 1, ...fact } as unknown as RunEvent);
    expect(view.board?.notices.map(({ kind, text }) => [kind, text])).toEqual([
      ["warning", "a warning"],
      ["forecast", "it will be large"],
      ["refused-commit", "the commit was refused: a secret"],
      ["circle", "going round in circles (1): the same again"],
      ["suspicion", "suspicious: 3 tests were removed"],
    ]);
  });
});
