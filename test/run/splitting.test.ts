import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/schema.js";
import type { Plan } from "../../src/plan/model.js";
import { decide } from "../../src/run/decide.js";
import type { Fact, RunEvent } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import type { RunState } from "../../src/run/state.js";
import { runStarted } from "../support/run-started.js";

const at = { file: "PLAN.md", line: 1 };
const PLAN: Plan = {
  format: "master",
  title: "t",
  goal: "",
  file: "PLAN.md",
  files: ["PLAN.md"],
  phases: [
    {
      ...at,
      id: "20",
      title: "Large",
      dependsOn: [],
      tasks: Array.from({ length: 6 }, (_, n) => ({
        ...at,
        line: 10 + n * 10,
        id: `20.${n + 1}`,
        title: `Edit \`src/${n < 3 ? "a" : "b"}.ts\``,
        ticked: false,
      })),
      gates: ["g1", "g2", "g3", "g4"].map((id) => ({
        ...at,
        line: 99,
        id,
        name: id,
        check: { type: "command", command: id },
      })),
      text: "All of it.",
      mark: undefined,
      complexity: undefined,
      files: ["src/a.ts", "src/b.ts"],
      criteria: ["c"],
      readFirst: [],
    },
  ],
};

const PLACE = { phase: "20", attempt: 1 };
const STARTED: Fact = { type: "phase-started", ...PLACE, command: "20/a1/start", head: "h", baseline: "b", staged: [] };

function fold(config: Partial<Config>, facts: Fact[]): RunState {
  const first: Fact = runStarted(PLAN, config);
  const start: Fact = {
    type: "command-issued",
    phase: "20",
    command: { type: "start-phase", id: "20/a1/start", ...PLACE },
  };
  let state: RunState | undefined;
  for (const [index, fact] of [first, start, STARTED, ...facts].entries())
    state = evolve(state, { v: 1, seq: index + 1, at: "2026-01-01T00:00:00.000Z", epoch: 1, ...fact } as RunEvent);
  return state as RunState;
}

const forecast = (percent: number, split: string[][], samples: number): Fact => ({
  type: "forecast-made",
  phases: [
    {
      phase: "20",
      prompt: 1,
      files: 1,
      work: 1,
      context: 1,
      percent,
      sessions: 3,
      calls: 1,
      tokens: 1,
      cost_usd: 1,
      split,
    },
  ],
  samples,
  warnings: [],
});

const session = (n: number, facts: (place: typeof PLACE & { session: string }) => Fact[]): Fact[] => {
  const id = `20/a1/session/${n}`;
  const place = { ...PLACE, session: id };
  const command = { type: "start-session", id, session: id, ...PLACE, purpose: "work", n, opening: "work" } as const;
  return [{ type: "command-issued", phase: "20", command }, ...facts(place)];
};

const exhausted = (n: number): Fact[] => [
  ...session(n, (place) => [
    { type: "session-ended", command: place.session, ...place, reason: "handed-over", swept: 0 },
  ]),
  { type: "commit-skipped", command: `20/a1/commit/${n}`, ...PLACE, kind: "handover", why: "nothing changed" },
];

const splitIn = (state: RunState) => {
  const [decision] = decide(state);
  return decision?.type === "conclude" && decision.fact.type === "phase-split" ? decision.fact : undefined;
};

const GROUPS = [
  ["20.1", "20.2", "20.3"],
  ["20.4", "20.5", "20.6"],
];

describe("a phase is split", () => {
  test("when its forecast is above the limit, and rests on what was seen here", () => {
    expect(splitIn(fold({}, [forecast(240, GROUPS, 2)]))).toMatchObject({ cause: "forecast", phase: "20" });
    expect(splitIn(fold({}, [forecast(240, GROUPS, 0)]))).toBeUndefined();
    expect(splitIn(fold({ split: "off" }, [forecast(240, GROUPS, 2)]))).toBeUndefined();
    expect(splitIn(fold({ auto_commit: false }, [forecast(240, GROUPS, 2)]))).toBeUndefined();
    expect(splitIn(fold({ max_split_depth: 0 }, [forecast(240, GROUPS, 2)]))).toBeUndefined();
  });

  test("when its context was exhausted a second time without a finished task, and not the first time", () => {
    expect(splitIn(fold({}, exhausted(1)))).toBeUndefined();
    const split = splitIn(fold({ stuck_limit: 0 }, [...exhausted(1), ...exhausted(2)]));
    expect(split).toMatchObject({ cause: "exhausted" });
    expect(split?.parts.map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([
      ["20.1", "20.2"],
      ["20.3", "20.4"],
      ["20.5", "20.6"],
    ]);
  });

  test("when more than three gates fail and repairing them is expected to fill more than 60 % of a session", () => {
    const done = session(1, (place) => [
      {
        type: "result-reported",
        ...place,
        result: {
          status: "completed",
          summary: "",
          tasks_completed: [],
          tasks_remaining: [],
          files_modified: [],
          decisions: [],
        },
      },
      { type: "session-ended", command: place.session, ...place, reason: "result", swept: 0 },
    ]);
    const failing = (count: number): Fact[] =>
      PLAN.phases[0]?.gates.map(({ id }, index) => ({
        type: "gate-finished",
        command: id,
        ...PLACE,
        gate: id,
        name: id,
        round: 0,
        passed: index >= count,
        exit: 1,
        ms: 1,
        why: "exit 1",
        output: "sha256:0",
      })) ?? [];
    expect(splitIn(fold({}, [forecast(61, [], 1), ...done, ...failing(4)]))).toMatchObject({ cause: "repair" });
    expect(splitIn(fold({}, [forecast(60, [], 1), ...done, ...failing(4)]))).toBeUndefined();
    expect(splitIn(fold({}, [forecast(61, [], 1), ...done, ...failing(3)]))).toBeUndefined();
  });

  test("its parts have its tasks, its files, its gates, and say what they are part of", () => {
    const parts = splitIn(fold({}, [forecast(240, GROUPS, 2)]))?.parts ?? [];
    expect(parts.map(({ id }) => id)).toEqual(["20a", "20b"]);
    expect(parts.map(({ files }) => files)).toEqual([["src/a.ts"], ["src/b.ts"]]);
    expect(parts[0]?.gates.map(({ id }) => id)).toEqual(["g1", "g2", "g3", "g4"]);
    expect(parts[0]?.criteria).toEqual([]);
    expect(parts[1]?.text).toContain("This is 20b, a part of phase 20 (Large)");
  });

  test("gates that stand under a task belong to the part that has the task", () => {
    const [phase] = PLAN.phases;
    if (phase === undefined) throw new Error("no phase");
    const [first, ...rest] = phase.gates;
    if (first === undefined) throw new Error("no gate");
    const own = { ...PLAN, phases: [{ ...phase, gates: [{ ...first, line: 15 }, ...rest] }] };
    const state = fold({}, [
      { type: "plan-changed", plan: own, added: [], removed: [], changed: ["20"] },
      forecast(240, GROUPS, 2),
    ]);
    const parts = splitIn(state)?.parts ?? [];
    expect(parts.map(({ gates }) => gates.map(({ id }) => id))).toEqual([["g1"], ["g1", "g2", "g3", "g4"]]);
  });

  test("with split: ask it is asked first, with the parts; without an answer it goes on whole", () => {
    const state = fold({ split: "ask" }, [forecast(240, GROUPS, 2)]);
    const [asked] = decide(state);
    expect(asked).toMatchObject({ fact: { type: "question-asked", kind: "split", fallback: "whole" } });
    const fact = asked?.type === "conclude" ? asked.fact : undefined;
    if (fact?.type !== "question-asked") throw new Error("nothing was asked");
    const answered = (choice: string) =>
      decide(
        fold({ split: "ask" }, [
          forecast(240, GROUPS, 2),
          fact,
          { type: "question-answered", question: fact.question, phase: "20", choice, by: "test" },
        ]),
      )[0];
    expect(answered("split")).toMatchObject({ fact: { type: "phase-split" } });
    expect(answered("whole")).toMatchObject({ command: { type: "start-session" } });
  });

  test("a part may be split again, up to max_split_depth; its parts have numbers", () => {
    const split = splitIn(fold({}, [forecast(240, GROUPS, 2)]));
    if (split === undefined) throw new Error("not split");
    const start: Fact = {
      type: "command-issued",
      phase: "20a",
      command: { type: "start-phase", id: "20a/a1/start", phase: "20a", attempt: 1, apart: true },
    };
    const begun: Fact = { ...STARTED, command: "20a/a1/start", phase: "20a" } as Fact;
    const of20a = forecast(240, [["20.1"], ["20.2", "20.3"]], 2);
    if (of20a.type !== "forecast-made" || of20a.phases[0] === undefined) throw new Error("no forecast");
    of20a.phases[0].phase = "20a";
    const facts = [forecast(240, GROUPS, 2), split, start, begun, of20a];
    const [inner] = decide(fold({}, facts)).flatMap((decision) =>
      decision.type === "conclude" && decision.fact.type === "phase-split" ? [decision.fact] : [],
    );
    expect(inner?.parts.map(({ id }) => id)).toEqual(["20a1", "20a2"]);
    const types = decide(fold({ max_split_depth: 1 }, facts)).map((decision) =>
      decision.type === "perform" ? decision.command.type : decision.fact.type,
    );
    expect(types).toContain("start-session");
    expect(types).not.toContain("phase-split");
  });
});

describe("a phase that was split, and is left out", () => {
  const parts: Fact[] = ["20a", "20b"].map((id) => ({
    type: "command-issued",
    phase: id,
    command: { type: "start-phase", id: `${id}/a1/start`, phase: id, attempt: 1, apart: true },
  }));
  const split = (): RunState => {
    const plan = PLAN.phases[0];
    if (plan === undefined) throw new Error("no phase");
    const part = (id: string, from: number, to: number) => ({
      ...plan,
      id,
      title: id,
      tasks: plan.tasks.slice(from, to),
      gates: [],
    });
    return fold({}, [
      {
        type: "phase-split",
        ...PLACE,
        cause: "requested",
        reason: "large",
        parts: [part("20a", 0, 1), part("20b", 1, 2)],
      },
    ]);
  };
  const next = (state: RunState, fact: Fact): RunState =>
    evolve(state, { v: 2, seq: state.seq + 1, at: state.now, epoch: 1, ...fact } as RunEvent);

  test("its parts are left out with it: what waits at once, what is under way when it has come to an end", () => {
    const [first] = parts;
    if (first === undefined) throw new Error("no part");
    let state = next(next(split(), first), { type: "skip-requested", phase: "20", by: "test" });
    for (const decision of decide(state)) if (decision.type === "conclude") state = next(state, decision.fact);
    expect(state.phases.get("20b")?.step).toBe("skipped");
    expect(state.phases.get("20")?.step).toBe("split");
    const started: Fact = {
      type: "phase-started",
      command: "20a/a1/start",
      phase: "20a",
      attempt: 1,
      head: "h",
      baseline: "b",
      staged: [],
      worktree: { branch: "x" },
    };
    state = next(state, started);
    for (let rounds = 0; rounds < 5 && state.status === "running"; rounds++)
      for (const decision of decide(state)) if (decision.type === "conclude") state = next(state, decision.fact);
    expect([...state.phases.values()].map(({ step }) => step)).toEqual(["skipped", "skipped", "skipped"]);
  });

  test("also one that failed because of a part", () => {
    let state = next(split(), {
      type: "phase-failed",
      ...PLACE,
      category: "agent_error",
      message: "m",
      recommendation: "ask",
    });
    state = next(state, { type: "skip-requested", phase: "20", by: "test" });
    expect([...state.phases.values()].map(({ step }) => step)).toEqual(["skipped", "skipped", "skipped"]);
  });
});
