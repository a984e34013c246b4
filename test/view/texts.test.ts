/** What the faces say, as text: what fits 80 columns, how a run stands, why it failed, what a rehearsal found. */
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { commentIn, newFile } from "../../src/rehearsal/comment.js";
import type { Fact, RunEvent } from "../../src/run/event.js";
import { askedLines } from "../../src/view/asked.js";
import { RunView } from "../../src/view/board.js";
import { failureLines } from "../../src/view/failure.js";
import { gatesReport } from "../../src/view/gates-report.js";
import { lineOf } from "../../src/view/lines.js";
import { figuresOf } from "../../src/view/report.js";
import { statusWords } from "../../src/view/status.js";
import { summaryTable } from "../../src/view/summary.js";
import { wrap } from "../../src/view/wrap.js";
import { sampleFacts } from "../support/sample-run.js";

const eventsOf = (facts: readonly Fact[]): RunEvent[] =>
  facts.map(
    (fact, index) =>
      ({
        v: 2,
        seq: index + 1,
        at: new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString(),
        epoch: 1,
        ...fact,
      }) as RunEvent,
  );

function boardOf(facts: readonly Fact[]) {
  const view = new RunView();
  for (const event of eventsOf(facts)) view.take(event);
  if (view.board === undefined) throw new Error("no board");
  return view.board;
}

const widest = (text: string): number => Math.max(...text.split("\n").map((line) => stringWidth(line)));

describe("tables and questions", () => {
  test("the summary fits the terminal: what matters least is left out first", () => {
    const figures = figuresOf(boardOf(sampleFacts()));
    expect(widest(summaryTable(figures))).toBeGreaterThan(80);
    const narrow = summaryTable(figures, 80);
    expect(widest(narrow)).toBeLessThanOrEqual(80);
    expect(narrow.split("\n")[0]).toMatch(/^phase +status +tasks .*gates/);
    expect(narrow).not.toContain("commits");
  });

  test("texts are wrapped as wide as they look, and long words cut", () => {
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("漢字漢字 漢字", 8)).toEqual(["漢字漢字", "漢字"]);
    expect(wrap("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
  });

  test("a question has all of its words, its place, its answers by number and what counts without one", () => {
    const question = {
      id: "q",
      phase: "3",
      text: "word ".repeat(40).trim(),
      choices: [
        { key: "p", name: "pass", meaning: "it is as it should be, and this goes on for more than one line of it" },
      ],
      fallback: "later",
      until: "2026-01-01T14:05:00.000Z",
    };
    const { text, choices, fallback } = askedLines(question, { n: 1, of: 2 }, 60);
    expect(text[0]).toMatch(/^\? 1 of 2, phase 3: word/);
    expect(text.join(" ").match(/word/g)).toHaveLength(40);
    expect([...text, ...choices].every((line) => line.length <= 60)).toBe(true);
    expect(choices[0]).toMatch(/^ {2}1 {2}pass/);
    expect(fallback).toContain("later, at 14:05 UTC");
  });
});

describe("how a run stands", () => {
  const standing = { status: "running" as const, stopping: false, limit: undefined, questions: [], phases: [] };
  const question = { id: "q", phase: "1", text: "", choices: [], fallback: "", until: "" };
  test("says what it waits for", () => {
    const working = { id: "1", live: "s", doing: "working", status: "running" as const };
    expect(statusWords({ ...standing, phases: [working] })).toBe("running");
    expect(statusWords({ ...standing, questions: [question], phases: [working] })).toBe("waits for you");
    expect(statusWords({ ...standing, questions: [question], phases: [working, { ...working, id: "2" }] })).toBe(
      "running",
    );
    expect(statusWords({ ...standing, stopping: true })).toBe("stopping");
    expect(statusWords({ ...standing, limit: { until: "2026-01-01T14:05:00.000Z", message: "" } })).toBe(
      "waiting until 14:05 UTC",
    );
    expect(statusWords({ ...standing, status: "failed" })).toBe("failed");
  });
});

const gate = (passed: boolean, exit = passed ? 0 : 1): Fact => ({
  type: "gate-finished",
  command: "2/a1/gate/r0/g",
  phase: "2",
  attempt: 1,
  gate: "g",
  name: "unit tests",
  round: 0,
  passed,
  exit,
  ms: 1,
  why: `exit ${exit}`,
  output: "sha256:",
  ...(passed ? {} : { tail: "line one\nline two" }),
});

describe("why it failed", () => {
  const failed: Fact[] = [
    ...sampleFacts(),
    gate(false),
    { type: "phase-failed", phase: "2", attempt: 1, category: "gate_failed", message: "m", recommendation: "ask" },
  ];
  test("the reason, the last lines of the gate, and commands that can be typed", () => {
    const board = boardOf(failed);
    const phase = board.phases.find(({ id }) => id === "2");
    if (phase === undefined) throw new Error("no phase");
    expect(failureLines(phase, board)).toEqual([
      "Phase 2 failed (gate_failed): m",
      "  gate unit tests: exit 1",
      "    │ line one",
      "    │ line two",
      "    all of it: segno gate 'unit tests' --phase 2",
      "  report: .segno/debug/phase-2.md",
      "  next: segno resume 20260102-030405-abcd",
    ]);
    const [only] = failureLines(phase, { run: "r", mode: "rehearsal", questions: [] }).slice(-1);
    expect(only).toContain("segno rehearse");
    const asked = failureLines(phase, { run: "r", mode: "run", questions: [{ phase: "2" }] });
    expect(asked.at(-1)).toBe("  next: segno answer: it waits for your word");
  });
});

describe("what a rehearsal found about gates", () => {
  const [started, ...rest] = sampleFacts();
  if (started?.type !== "run-started") throw new Error("no start");
  const at = { file: "P", line: 1 };
  const gates = [
    { ...at, id: "g", name: "unit tests", check: { type: "command" as const, command: "npm test" } },
    { ...at, id: "m", name: "looks", check: { type: "manual" as const } },
  ];
  const plan = {
    ...started.plan,
    phases: started.plan.phases.map((phase) => (phase.id === "2" ? { ...phase, gates } : phase)),
  };
  const found = (before: boolean, ...facts: Fact[]) =>
    gatesReport(
      eventsOf([
        { ...started, plan },
        { type: "gates-baselined", results: [{ command: "npm test", name: "unit tests", passed: before, ms: 1 }] },
        ...rest,
        ...facts,
      ]),
    );
  test("passed, failed before already, failed after, could not be judged, did not run, needs a person", () => {
    expect(found(true, gate(true))[0]).toContain("passed");
    expect(found(false, gate(false))[0]).toContain("failed before the first phase already");
    expect(found(true, gate(false))[0]).toContain("failed after the stand-in's changes");
    expect(found(true, gate(false, 127))[0]).toContain("could not be judged: the command is not there");
    expect(found(true)[0]).toContain("did not run");
    expect(found(true)[1]).toContain("looks (phase 2): manual");
  });
});

describe("what the stand-in writes into a file", () => {
  test("leaves it valid", () => {
    expect(commentIn("src/a.ts", "x")).toBe("// x");
    expect(commentIn("tools/a.py", "x")).toBe("# x");
    expect(commentIn("page.html", "x")).toBe("<!-- x -->");
    expect(commentIn("package.json", "x")).toBeUndefined();
    expect(newFile("data.json", "x")).toBe("{}\n");
    expect(newFile("notes.txt", "x")).toBe("x\n");
  });
});

describe("log lines say what happened", () => {
  const at = { v: 2, seq: 1, at: "2026-01-01T00:00:00.000Z", epoch: 1, phase: "2", attempt: 1, command: "c" } as const;
  const text = (fact: object): string => lineOf({ ...at, ...fact } as unknown as RunEvent)?.text ?? "";
  const part = (id: string, dependsOn: string[]) => ({ id, dependsOn });

  test("what is skipped, which commit it is, a snapshot, and whether parts run at once", () => {
    const commit = { type: "commit-made", sha: "abcdef0123456", files: 2, leftOut: [] };
    expect(text({ type: "commit-skipped", kind: "handover", why: "nothing changed" })).toBe("no changes to commit");
    expect(text({ ...commit, kind: "merge" })).toContain("with what others merged meanwhile");
    expect(text({ ...commit, kind: "phase", ref: "refs/segno/x" })).toContain("auto-commit is off: snapshot");
    const split = { type: "phase-split", cause: "requested", reason: "large" };
    expect(text({ ...split, parts: [part("2a", []), part("2b", [])] })).toContain("launching in parallel");
    expect(text({ ...split, parts: [part("2a", []), part("2b", ["2a"])] })).toContain("in order");
  });

  test("a restart has its number and the limits", () => {
    const session = {
      type: "session-started",
      session: "2/a1/session/3",
      purpose: "work",
      promptTokens: 900,
      resumed: false,
    };
    expect(text({ ...session, most: 50, idle: { count: 2, most: 3 } })).toContain(
      "session 3 of at most 50 (work), prompt about 900 tokens; handovers without a finished task: 2 of at most 3",
    );
  });
});
