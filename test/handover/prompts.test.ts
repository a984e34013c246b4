import { describe, expect, test } from "vitest";
import { allotPromptBudget, composeLayers, type Pruning, pruningFor, shareOfBudget } from "../../src/context/layers.js";
import { roughTokens } from "../../src/handover/bounded.js";
import {
  continuationPrompt,
  firstView,
  type PhaseMetadata,
  remediationPrompt,
  workPrompt,
} from "../../src/handover/prompts.js";
import { DEFAULT_TEXTS, fill, TEMPLATE_NAMES, templateProblems } from "../../src/handover/templates.js";
import { parsePlan } from "../../src/plan/parse.js";
import { planFiles } from "../support/plans.js";

const files = planFiles([{ id: "1" }, { id: "2", tasks: 3, dependsOn: ["1"] }]);
const parsed = parsePlan("PLAN.md", (path) => files[path] as string, {});
if (!parsed.ok) throw new Error("the plan is not sound");
const { plan } = parsed;
const view = firstView(plan, plan.phases[1] as (typeof plan.phases)[number]);

const finished = (n: number, answer = ""): PhaseMetadata => ({
  id: String(n),
  title: `Phase ${n}`,
  summary: "word ".repeat(200),
  decisions: Array.from({ length: 9 }, (_, index) => `decision ${index} ${"and why ".repeat(20)}`),
  files: Array.from({ length: 30 }, (_, index) => `src/some/where/file-${index}.ts`),
  gates: ["tests", "lint"],
  file: `plan/phase-${n}.md`,
  answer,
});

describe("every prompt for work", () => {
  test("says that Segno hands over, and which of our tools to call", () => {
    for (const text of [workPrompt(view).text, continuationPrompt(view, { n: 2, most: 5, why: "context" }, "C").text]) {
      expect(text).toContain("Segno hands over before your window is full");
      for (const tool of ["progress", "decision", "phase_result"]) expect(text).toContain(tool);
    }
  });
});

describe("the continuation prompt", () => {
  const prompt = continuationPrompt(
    { ...view, tasksDone: ["2.1"] },
    { n: 3, most: 50, why: "context" },
    "THE CHECKPOINT",
  ).text;

  test("says it is a continuation, why, and which one of how many", () => {
    expect(prompt).toContain("You continue phase 2");
    expect(prompt).toContain("session 3 of at most 50");
    expect(prompt).toContain("because its context window was nearly full");
  });

  test("holds the checkpoint, the phase's text with tasks marked, and what not to repeat", () => {
    expect(prompt).toContain("THE CHECKPOINT");
    expect(prompt).toContain("- [x] 2.1");
    expect(prompt).toContain("- [ ] 2.2");
    expect(prompt).toContain("Do not repeat what is done");
  });

  test("says how to report, what Segno reads, when to ask for a split, and to stop near the limit", () => {
    expect(prompt).toContain("call `progress` with its id");
    expect(prompt).toContain("Segno reads only tool calls, git and gates");
    expect(prompt).toContain("split_request");
    expect(prompt).toContain("report partial progress and stop");
  });

  test.each([
    ["crashed", "it ended unexpectedly"],
    ["limit", "a usage limit was reached"],
    ["stuck", "it went round in circles"],
    ["killed", "Segno itself was interrupted"],
  ] as const)("after %s it says: %s", (why, words) => {
    expect(continuationPrompt(view, { n: 2, most: 50, why }, "x").text).toContain(words);
  });

  test("with nothing known there is a minimal form", () => {
    expect(continuationPrompt(view, { n: 2, most: 50, why: "crashed" }, "").text).toContain(
      "Look at the working tree before you begin",
    );
  });

  test("a repair says when to ask for a split instead", () => {
    const repair = remediationPrompt(
      view,
      [{ name: "g", command: "false", why: "exit 1", output: "no" }],
      undefined,
    ).text;
    expect(repair).toContain("more than 3 separate issues");
  });
});

describe("Segno's own words", () => {
  test("stay under 400 tokens per phase, and metadata of a finished phase under 300", () => {
    const bare = workPrompt({ ...view, plan: { ...plan, title: "", goal: "" } });
    expect(bare.layers.permanent).toBeLessThan(400);
    const one = workPrompt({ ...view, finished: [finished(1)] });
    expect(one.layers.metadata).toBeLessThanOrEqual(300);
  });

  test("a progress update costs an agent a line or two", () => {
    const update = JSON.stringify({ task: "2.1", message: "library written and tested" }, null, 2);
    expect(update.split("\n").length).toBeLessThan(20);
  });
});

describe("layers and pruning", () => {
  const answer = "An answer that goes on and on about what was done. ".repeat(300);
  const six = Array.from({ length: 6 }, (_, n) => finished(n + 1, answer));
  const kept = (pruning: Pruning) => {
    const { layers } = workPrompt({ ...view, finished: six, pruning });
    return layers.metadata + layers.transient;
  };

  test("six phases with 5,000-token answers: aggressive saves 95 %, moderate 85 %, minimal keeps them", () => {
    const everything = six.reduce((sum, phase) => sum + roughTokens(phase.answer), 0);
    expect(roughTokens(answer)).toBeGreaterThanOrEqual(5_000);
    expect(1 - kept("aggressive") / everything).toBeGreaterThanOrEqual(0.95);
    expect(1 - kept("moderate") / everything).toBeGreaterThanOrEqual(0.85);
    expect(kept("minimal")).toBeGreaterThan(everything);
  });

  test("the automatic choice: more than 3 phases aggressive, else moderate, repairs minimal, force wins", () => {
    const choose = (phases: number, repairing = false, forced = false) =>
      pruningFor("auto", { phases, repairing, forced });
    expect([choose(4), choose(3), choose(9, true), choose(1, true, true)]).toEqual([
      "aggressive",
      "moderate",
      "minimal",
      "aggressive",
    ]);
    expect(pruningFor("minimal", { phases: 9, repairing: false, forced: false })).toBe("minimal");
  });

  test("at 90 % transient data goes, at 95 % pruning turns aggressive, above 100 % scope must shrink", () => {
    const compose = (phase: number, transient: number, budget: number) =>
      composeLayers({
        permanent: "p".repeat(100),
        phase: "f".repeat(phase),
        finished: [{ id: "1", metadata: "m".repeat(100), line: "l".repeat(10), answer: "a".repeat(transient) }],
        pruning: "minimal",
        budget,
        share: budget,
        countTokens: (text) => text.length,
      });
    expect(compose(100, 400, 1_000).sizes).toMatchObject({ pruning: "minimal", pruned: 0 });
    expect(compose(100, 700, 1_000).sizes).toMatchObject({
      pruning: "minimal",
      transient: 0,
      pruned: 700,
      metadata: 100,
    });
    expect(compose(760, 700, 1_000).sizes).toMatchObject({ pruning: "aggressive", transient: 0, metadata: 10 });
    expect(compose(760, 700, 1_000).warnings).toEqual([]);
    expect(compose(900, 0, 1_000).warnings[0]).toMatch(
      /above its budget \(1010 of 1000 tokens\): reduce scope.*phase layer/,
    );
  });

  test("three strategies say what a phase may fill with what others did; complexity by its word, else by what it names", () => {
    const phases = [
      { id: "1", complexity: "simple" as const, tasks: [], files: [] },
      { id: "2", complexity: undefined, tasks: [1, 2, 3, 4], files: ["a"] },
      { id: "3", complexity: undefined, tasks: [1, 2, 3, 4, 5], files: ["a", "b", "c", "d"] },
    ];
    const shares = (strategy: "fixed" | "dynamic" | "reserve") => [
      ...allotPromptBudget(strategy, phases, 7_500).phases.values(),
    ];
    expect(shares("fixed")).toEqual([7_500, 7_500, 7_500]);
    expect(shares("dynamic")).toEqual([3_125, 5_000, 7_500]);
    expect(shares("reserve")).toEqual([4_500, 4_500, 4_500]);
    expect(allotPromptBudget("reserve", phases, 7_500)).toMatchObject({ debugging: 1_500, overflow: 1_500 });
    expect(shareOfBudget("reserve", { complexity: undefined, tasks: [], files: [] }, 7_500, true)).toBe(6_000);
  });

  test("a share is kept by pruning in the documented order, and cuts nothing of the phase's own", () => {
    const ten = Array.from({ length: 10 }, (_, n) => finished(n + 1, answer));
    const whole = workPrompt({ ...view, finished: ten, pruning: "minimal" });
    const small = workPrompt({ ...view, finished: ten, pruning: "minimal", budget: 1_000_000, share: 100 });
    expect(whole.layers.transient).toBeGreaterThan(20_000);
    expect(small.layers.transient).toBe(0);
    expect(small.layers.metadata).toBeLessThanOrEqual(100);
    expect(small.text).toContain("Phase 10:");
    expect(small.text).not.toContain("Phase 1:");
    expect([small.layers.permanent, small.layers.phase]).toEqual([whole.layers.permanent, whole.layers.phase]);
  });

  test("with the default settings no prompt is smaller than with the budget alone", () => {
    for (const count of [0, 1, 3, 10, 40]) {
      const all = Array.from({ length: count }, (_, n) => finished(n + 1, answer));
      for (const pruning of ["aggressive", "moderate", "minimal"] as const) {
        const shown = { ...view, finished: all, pruning, budget: 7_500 };
        const share = shareOfBudget("fixed", view.phase, 7_500, false);
        expect(workPrompt({ ...shown, share }).text.length).toBeGreaterThanOrEqual(workPrompt(shown).text.length);
      }
    }
  });

  test("standards that the agent does not read itself are named, and who else is at work, in a line each", () => {
    const wave = "Wave 2 of 3 of the plan. At work at the same time, elsewhere: 3 Screens.";
    const { text } = workPrompt({ ...view, standards: ["AGENTS.md"], wave });
    expect(text).toContain("The project's standards are in AGENTS.md");
    expect(text).toContain(wave);
    expect(workPrompt(view).text).not.toContain("standards are in");
  });
});

describe("prompt overrides", () => {
  test("Segno's own texts have no problem", () => {
    for (const name of TEMPLATE_NAMES) expect(templateProblems(name, DEFAULT_TEXTS[name])).toEqual([]);
  });

  test("an unknown placeholder and a missing one are errors with a position", () => {
    expect(templateProblems("work", "{{plan}}\n{{rules}} {{phase}}\n  {{whatever}}")).toEqual([
      {
        line: 3,
        column: 3,
        message: 'There is no placeholder {{whatever}} in the prompt "work".',
        fix: expect.stringContaining("{{phase_id}}"),
      },
    ]);
    expect(templateProblems("continue", "{{plan}} {{rules}} {{phase}}\nend")).toEqual([
      {
        line: 2,
        column: 4,
        message: 'The placeholder {{checkpoint}} is missing in the prompt "continue".',
        fix: "Put {{checkpoint}} where it belongs.",
      },
    ]);
  });

  test("what is filled in is never read as a template again", () => {
    expect(fill("{{a}}-{{b}}", { a: "{{b}}", b: "x" })).toBe("{{b}}-x");
  });
});
