/** Documents without boxes: what they would be as plans, and that what is written of them reads back as just that. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readDocument } from "../../src/plan/document.js";
import { outlineOf } from "../../src/plan/free-text.js";
import { newPlan } from "../../src/plan/new-plan.js";
import { parsePlan } from "../../src/plan/parse.js";

const outline = (source: string) => outlineOf(readDocument("NOTES.md", source));
const brief = (source: string) =>
  outline(source)?.phases.map(({ title, tasks }) => [title, ...tasks.map((task) => task.title)]);

describe("headings and bullets", () => {
  test("are phases and tasks; what only tells about the work is neither, and criteria are criteria", () => {
    const source = `# Faster search

## Context

- it is slow

## Step 1: Index

Words are kept.

- build the index
  - by word
- keep it up to date

## 2. Ask it

1. parse the question
2. **rank** the answers

### Acceptance Criteria

- under 10 ms

## Success criteria

- users are happy
`;
    expect(brief(source)).toEqual([
      ["Index", "build the index", "keep it up to date"],
      ["Ask it", "parse the question", "**rank** the answers"],
    ]);
    const found = outline(source);
    expect(found?.title).toBe("Faster search");
    expect(found?.phases[0]).toMatchObject({ text: "Words are kept.", tasks: [{ details: "- by word" }, {}] });
    expect(found?.phases[1]?.criteria).toEqual(["under 10 ms", "users are happy"]);
  });

  test("under one heading the deeper ones count; without headings, items with others below them, or the list", () => {
    expect(brief("# P\n\n## Plan\n\n### A\n\n- a\n\n### B\n\n- b\n")).toEqual([
      ["A", "a"],
      ["B", "b"],
    ]);
    expect(brief("1. First\n   - a\n   - b\n2. Second\n   - c\n")).toEqual([
      ["First", "a", "b"],
      ["Second", "c"],
    ]);
    expect(brief("- one\n- two\n")).toEqual([["NOTES.md", "one", "two"]]);
    expect(brief("# Words\n\nOnly words.\n")).toBeUndefined();
  });

  test("an issue's checklist keeps what is ticked", () => {
    expect(outline("Do this:\n\n- [x] one\n- [ ] two\n  more of it\n")?.phases[0]?.tasks).toEqual([
      { title: "one", details: "", ticked: true },
      { title: "two", details: "more of it", ticked: false },
    ]);
  });

  test("boxes are to be done, whatever stands above them", () => {
    expect(
      brief("# P\n\n- [ ] zero\n\n## Goals\n\n- [ ] one\n\n## Work\n\n- two\n\n## Testing\n\n- [ ] three\n"),
    ).toEqual([
      ["P", "zero"],
      ["Goals", "one"],
      ["Work", "two"],
      ["Testing", "three"],
    ]);
  });

  test("are offered where no form fits, with the command that writes them", () => {
    const parsed = parsePlan("NOTES.md", () => "# P\n\n## A\n\n- a\n");
    expect(parsed.ok).toBe(false);
    expect(parsed.diagnostics[0]?.message).toContain("1 phases with 1 tasks:\n  phase 1  A\n    - a");
    expect(parsed.diagnostics[0]?.fix).toContain("segno init --from NOTES.md");
  });
});

describe("a plan that is written from it", () => {
  const words = fc.array(fc.constantFrom("write", "`a.ts`", "| cell", "[link](x)", "é🎼", "1.2", "*all*", "the rest"), {
    minLength: 1,
    maxLength: 5,
  });
  const title = words.map((parts) => `do ${parts.join(" ")}`);
  const phase = fc.record({
    title,
    line: fc.constant(1),
    text: fc.constantFrom("", "Some words.", "A\n\nB"),
    tasks: fc.array(fc.record({ title, details: fc.constantFrom("", "- more\n- and more"), ticked: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    }),
    criteria: fc.array(title, { maxLength: 2 }),
  });

  test("reads back as what it was written from", () => {
    fc.assert(
      fc.property(fc.array(phase, { minLength: 1, maxLength: 4 }), (phases) => {
        const files = new Map(
          newPlan("PLAN", { title: "T", goal: "G", phases }, [{ name: "tests", command: "npm test" }]),
        );
        const parsed = parsePlan("PLAN.md", (path) => files.get(path));
        expect(parsed.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
        const read = parsed.plan?.phases ?? [];
        expect(read.map(({ tasks }) => tasks.map((task) => [task.title, task.ticked]))).toEqual(
          phases.map(({ tasks }) => tasks.map((task) => [task.title, task.ticked])),
        );
        expect(read.map(({ dependsOn }) => dependsOn)).toEqual(phases.map((_, n) => (n === 0 ? [] : [String(n)])));
        expect(read.every(({ gates }) => gates.length === 1)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
