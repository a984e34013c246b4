/** How phases end where a person had the last word. */
import { expect, test } from "vitest";
import type { RunEvent } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import { openQuestions } from "../../src/run/questions.js";
import type { RunState } from "../../src/run/state.js";
import { onePhase, runStarted } from "../support/run-started.js";

const RESUMED = { type: "run-resumed", config: undefined, torn: 0, swept: 0, staged: [], usersPaths: [] };

/** A phase in two parts, both of which failed, and so did the whole; somebody is asked. */
function asked(
  choice: "continue" | "leave" | "revise" | undefined,
  ...more: ({ type: string } & Record<string, unknown>)[]
): RunState {
  const plan = onePhase();
  const [phase] = plan.phases;
  if (phase === undefined) throw new Error("no phase");
  const parts = ["1a", "1b"].map((id) => ({ ...phase, id, tasks: [] }));
  const of = (id: string) => ({ phase: id, attempt: 1 });
  const failed = (id: string) => ({
    type: "phase-failed",
    ...of(id),
    category: "agent_error",
    message: "m",
    recommendation: "ask",
  });
  const facts = [
    runStarted(plan),
    { type: "command-issued", phase: "1", command: { type: "start-phase", id: "1/a1/start", ...of("1") } },
    { type: "phase-started", command: "1/a1/start", ...of("1"), head: "h", baseline: "b", staged: [] },
    { type: "phase-split", ...of("1"), cause: "requested", reason: "large", parts },
    failed("1a"),
    failed("1b"),
    failed("1"),
    {
      type: "question-asked",
      question: "q",
      kind: "failure",
      phase: "1",
      text: "?",
      choices: [],
      fallback: "leave",
      minutes: 60,
    },
    ...(choice === undefined ? [] : [{ type: "question-answered", question: "q", phase: "1", choice, by: "test" }]),
    ...more,
  ];
  let state: RunState | undefined;
  for (const [at, fact] of facts.entries()) {
    const of = fact.type === "run-resumed" ? { ...fact, config: state?.config } : fact;
    state = evolve(state, { v: 2, seq: at + 1, at: "2026-01-01T00:00:00.000Z", epoch: 1, ...of } as RunEvent);
  }
  return state as RunState;
}

const steps = ({ phases }: RunState): string[] => [...phases].map(([id, { step }]) => `${id} ${step}`);

test("who takes a split phase as it is takes it without the parts that failed", () => {
  expect(steps(asked("leave"))).toEqual(["1 failed", "1a failed", "1b failed"]);
  expect(steps(asked("continue")).slice(1)).toEqual(["1a skipped", "1b skipped"]);
  expect(steps(asked("continue"))[0]).not.toBe("1 failed");
});

test("a run that goes on by itself changes nothing that was asked, answered or failed; a person's resume tries again", () => {
  const revived = { ...RESUMED, revived: { times: 1, cause: "killed" } };
  expect(steps(asked(undefined, revived))).toEqual(["1 failed", "1a failed", "1b failed"]);
  expect(openQuestions(asked(undefined, revived))).toHaveLength(1);
  expect(steps(asked("leave", revived))).toEqual(["1 failed", "1a failed", "1b failed"]);
  expect(asked("leave", { type: "run-held", hold: "paused", by: "test" }, revived).hold).toBe("paused");
  expect(steps(asked(undefined, RESUMED))).not.toContain("1 failed");
  expect(openQuestions(asked(undefined, RESUMED))).toEqual([]);
});

test("a phase whose text somebody changes is still waited for when the run is resumed", () => {
  expect(steps(asked("revise", RESUMED))[0]).toBe("1 failed");
  expect(steps(asked("revise", { ...RESUMED, at: "2026-01-02T00:00:00.000Z" }))[0]).not.toBe("1 failed");
});
