import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/schema.js";
import type { Plan } from "../../src/plan/model.js";
import { decide } from "../../src/run/decide.js";
import type { Fact, RunEvent } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import { requestProblem } from "../../src/run/splitting.js";
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

/** Of a window of 160,000 that a session may fill. */
const forecast = (percent: number, tokensPerIssue?: number): Fact => ({
  type: "forecast-made",
  phases: [
    {
      phase: "20",
      prompt: 1,
      files: 1,
      work: percent * 1_600 - 32_000,
      context: percent * 1_600,
      percent,
      sessions: 3,
      calls: 1,
      tokens: 1,
      cost_usd: 1,
      split: [],
    },
  ],
  samples: 2,
  tokensPerIssue,
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

const COMMITTED: Fact = {
  type: "commit-made",
  command: "20/a1/commit/1",
  ...PLACE,
  kind: "handover",
  sha: "c",
  files: 1,
  leftOut: [],
};

const TWICE: Fact[] = [...exhausted(1), ...exhausted(2)];

const splitIn = (state: RunState) => {
  const [decision] = decide(state);
  return decision?.type === "conclude" && decision.fact.type === "phase-split" ? decision.fact : undefined;
};

describe("a phase is split", () => {
  test("never because it is forecast to exceed a window: that is what handovers are for", () => {
    expect(splitIn(fold({}, [forecast(240)]))).toBeUndefined();
  });

  test("not where it is switched off, where nothing is committed, or too deep", () => {
    for (const config of [{ split: "off" }, { auto_commit: false }, { max_split_depth: 0 }] as Partial<Config>[])
      expect(splitIn(fold({ stuck_limit: 0, ...config }, TWICE))).toBeUndefined();
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

  describe("when more than three things fail, and repairing them is expected to fill more than 60 % of a session", () => {
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
    const failing = (...issues: number[]): Fact[] =>
      PLAN.phases[0]?.gates.map(({ id }, index) => ({
        type: "gate-finished",
        command: id,
        ...PLACE,
        gate: id,
        name: id,
        round: 0,
        passed: issues[index] === undefined,
        exit: 1,
        ms: 1,
        why: "exit 1",
        output: "sha256:0",
        issues: issues[index],
      })) ?? [];
    const split = (tokensPerIssue: number | undefined, ...issues: number[]) =>
      splitIn(fold({}, [forecast(100, tokensPerIssue), ...done, ...failing(...issues), COMMITTED]));

    test("failing checks inside a gate count, not gates only", () => {
      expect(split(20_000, 4)).toMatchObject({ cause: "repair" });
      expect(split(20_000, 3)).toBeUndefined();
      expect(split(20_000, 1, 1, 1, 1)).toMatchObject({ cause: "repair" });
    });

    test("what was done is committed first, and a phase is split for its repair once", () => {
      const facts = [forecast(100, 20_000), ...done, ...failing(9)];
      expect(decide(fold({}, facts))[0]).toMatchObject({ command: { type: "commit", kind: "handover" } });
      const parts = splitIn(fold({}, [...facts, COMMITTED]));
      if (parts === undefined) throw new Error("not split");
      const ended = parts.parts.map(({ id }): Fact => ({ type: "phase-skipped", phase: id }));
      const again = fold({}, [...facts, COMMITTED, parts, ...ended, ...failing(9), COMMITTED]);
      expect(decide(again)[0]).toMatchObject({ command: { type: "start-session", purpose: "remediate" } });
    });

    test("the expectation is the repair's, from what repairs needed here", () => {
      expect(split(15_000, 4)).toBeUndefined();
      // Before any repair was seen here, nothing is expected: it is repaired.
      expect(split(undefined, 40)).toBeUndefined();
    });
  });

  describe("into parts", () => {
    const withTasks = (titles: string[], gates: Plan["phases"][number]["gates"] = []): Fact => {
      const [phase] = PLAN.phases;
      if (phase === undefined) throw new Error("no phase");
      const tasks = titles.map((title, n) => ({ ...at, line: 10 + n * 10, id: `20.${n + 1}`, title, ticked: false }));
      const plan = { ...PLAN, phases: [{ ...phase, tasks, gates, files: [] }] };
      return { type: "plan-changed", plan, added: [], removed: [], changed: ["20"] };
    };
    const partsOf = (titles: string[], gates?: Plan["phases"][number]["gates"]) =>
      splitIn(fold({ stuck_limit: 0 }, [withTasks(titles, gates), ...TWICE]))?.parts ?? [];
    const gate = (id: string, command: string, line = 99) => ({
      ...at,
      id,
      name: id,
      check: { type: "command" as const, command },
      line,
    });

    test("one after the other, unless their files are declared and none is shared, or the plan says so", () => {
      const order = (titles: string[]) => partsOf(titles).map(({ dependsOn }) => dependsOn);
      expect(order(["Write the module", "Integrate the module from step 1", "Document it"])).toEqual([
        [],
        ["20a"],
        ["20b"],
      ]);
      expect(order(["Edit `src/a.ts`", "Edit `src/b.ts`", "Edit `src/c.ts`"])).toEqual([[], [], []]);
      expect(order(["Edit `src/a.ts`", "Edit `src/b.ts`", "Edit `src/a.ts`"])).toEqual([[], ["20a"], ["20b"]]);
      expect(order(["[P] one", "[P] two", "[P] three"])).toEqual([[], [], []]);
    });

    test("each with its tasks and files, judged by gates under its tasks or that name its files alone", () => {
      const parts = partsOf(
        ["Edit `src/a.ts`", "Edit `src/b.ts`", "Edit `src/c.ts`"],
        [gate("g1", "npm test"), gate("g2", "node check.mjs src/b.ts"), gate("g3", "true", 15)],
      );
      expect(parts.map(({ id }) => id)).toEqual(["20a", "20b", "20c"]);
      expect(parts.map(({ files }) => files)).toEqual([["src/a.ts"], ["src/b.ts"], ["src/c.ts"]]);
      expect(parts.map(({ gates }) => gates.map(({ id }) => id))).toEqual([["g3"], ["g2"], []]);
      expect(parts[0]?.criteria).toEqual([]);
      expect(parts[1]?.text).toContain("This is 20b, a part of phase 20 (Large)");
    });

    test("as its agent asks: what depends on what by their titles", () => {
      const asks = (parts: { title: string; tasks: string[]; depends_on?: string[] }[]) => ({
        status: "split_request" as const,
        summary: "",
        tasks_completed: [],
        tasks_remaining: [],
        files_modified: [],
        decisions: [],
        split_details: { reason: "large", recommended_sub_phases: parts },
      });
      const all = PLAN.phases[0]?.tasks.map(({ id }) => id) ?? [];
      const parts = [
        { title: "Core", tasks: all.slice(0, 2) },
        { title: "Screens", tasks: all.slice(2, 4), depends_on: ["Core"] },
        { title: "Words", tasks: all.slice(4) },
      ];
      const requested = (place: typeof PLACE & { session: string }): Fact[] => [
        { type: "result-reported", ...place, result: asks(parts) },
        { type: "session-ended", command: place.session, ...place, reason: "result", swept: 0 },
        { type: "commit-skipped", command: "20/a1/commit/1", ...PLACE, kind: "handover", why: "nothing changed" },
      ];
      const state = fold({}, session(1, requested));
      expect(splitIn(state)?.parts.map(({ dependsOn }) => dependsOn)).toEqual([[], ["20a"], []]);
      const problem = (more: typeof parts, repairs = false) =>
        requestProblem(state, "20", asks(more), { done: repairs ? all : [], repairs });
      expect(problem(parts)).toBeUndefined();
      expect(problem(parts.map((part) => ({ ...part, depends_on: ["Nothing"] })))).toContain("no sub-phase: Nothing");
      expect(
        problem([
          { title: "A", tasks: all.slice(0, 3), depends_on: ["B"] },
          { title: "B", tasks: all.slice(3), depends_on: ["A"] },
        ]),
      ).toContain("wait for each other: A, B");
      // In a repair everything was done once: only what is to be repaired is named.
      expect(problem(parts.slice(0, 2), true)).toBeUndefined();
      expect(problem(parts.slice(0, 2))).toContain("in no sub-phase: 20.5, 20.6");
    });
  });

  test("with split: ask it is asked first, with the parts; without an answer it goes on whole", () => {
    const asking = { split: "ask", stuck_limit: 0 } as const;
    const [asked] = decide(fold(asking, TWICE));
    expect(asked).toMatchObject({ fact: { type: "question-asked", kind: "split", fallback: "whole" } });
    const fact = asked?.type === "conclude" ? asked.fact : undefined;
    if (fact?.type !== "question-asked") throw new Error("nothing was asked");
    const answered = (choice: string) =>
      decide(
        fold(asking, [
          ...TWICE,
          fact,
          { type: "question-answered", question: fact.question, phase: "20", choice, by: "test" },
        ]),
      )[0];
    expect(answered("split")).toMatchObject({ fact: { type: "phase-split" } });
    expect(answered("whole")).toMatchObject({ command: { type: "start-session" } });
  });

  test("a part may be split again, up to max_split_depth; its parts have numbers", () => {
    const split = splitIn(fold({ stuck_limit: 0 }, TWICE));
    if (split === undefined) throw new Error("not split");
    const start: Fact = {
      type: "command-issued",
      phase: "20a",
      command: { type: "start-phase", id: "20a/a1/start", phase: "20a", attempt: 1, apart: true },
    };
    const begun: Fact = { ...STARTED, command: "20a/a1/start", phase: "20a" } as Fact;
    const ofPart = TWICE.map((fact) => JSON.parse(JSON.stringify(fact).replaceAll('"20', '"20a')) as Fact);
    const facts = [...TWICE, split, start, begun, ...ofPart];
    const [inner] = decide(fold({ stuck_limit: 0 }, facts)).flatMap((decision) =>
      decision.type === "conclude" && decision.fact.type === "phase-split" ? [decision.fact] : [],
    );
    expect(inner?.parts.map(({ id }) => id)).toEqual(["20a1", "20a2"]);
    const types = decide(fold({ stuck_limit: 0, max_split_depth: 1 }, facts)).map((decision) =>
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
