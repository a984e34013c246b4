/** Whatever a document looks like: no crash, no diagnostic without a place, no byte changed but marks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMarkdown } from "../../src/plan/markdown.js";
import { FORMATS, type Plan } from "../../src/plan/model.js";
import { parsePlan } from "../../src/plan/parse.js";
import { piecesOf } from "../../src/plan/pieces.js";
import { markPlanFile } from "../../src/plan/write-back.js";
import { PLANS } from "../support/plan-texts.js";
import { planFiles } from "../support/plans.js";

const RUNS = Number(process.env.MUTATIONS ?? 60);
// The same documents each time, unless more are asked for: what is found then is worth a test of its own.
const SEED = process.env.MUTATIONS === undefined ? { seed: 20_261_116 } : {};
const MASTER = planFiles([
  { id: "1", tasks: 2 },
  { id: "2", dependsOn: ["1"] },
]);
const SEEDS = [...Object.values(PLANS), MASTER["PLAN.md"] as string, MASTER["plan/phase-1.md"] as string];
const BITS = [
  "\n",
  "\r\n",
  "# ",
  "## Tasks\n",
  "### Phase 2: X\n",
  "### Task 1: Y\n",
  "- [ ] ",
  "- [x] 1.1: z\n",
  "  - [ ] n\n",
  "```\n",
  "<!--",
  "-->",
  '<task id="1">\n',
  "</task>\n",
  "| a | b |\n|-|-|\n",
  "| 1 | [x](p.md) | Done |\n",
  "**Status:** ",
  "**Depends On:** 1-9",
  "[COMPLETE]",
  "\t",
  "`",
  "*",
  "\\",
  "\uFEFF",
  "é",
  "🎼",
  "\u0000",
  "&#35;",
  "> ",
  "1. [ ] ",
  "---\n",
  "===",
];

/** A document of ours with pieces cut out, doubled, moved or put in. */
const mutated = fc
  .tuple(
    fc.constantFrom(...SEEDS),
    fc.array(fc.tuple(fc.nat(), fc.nat(80), fc.nat(5), fc.constantFrom(...BITS)), { maxLength: 8 }),
  )
  .map(([seed, changes]) =>
    changes.reduce((text, [where, length, what, bit]) => {
      const at = text.length === 0 ? 0 : where % text.length;
      const [before, piece, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)];
      if (what === 0) return before + after;
      if (what === 1) return before + piece + piece + after;
      if (what === 2) return piece + before + after;
      return before + bit + piece + after;
    }, seed),
  );

/** Forms in which boxes that are all ticked mean that the phase is done. */
const SAID_BY_BOXES = new Set(["checklist", "spec-kit", "openspec"]);

const read = (source: string) => (path: string) => (path === "PLAN.md" ? source : MASTER[path]);

test("a document read in pieces is the same as read whole, positions and all", () => {
  const together = fc.array(mutated, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("\n\n"));
  let cut = 0;
  fc.assert(
    fc.property(together, (text) => {
      let whole: ReturnType<typeof parseMarkdown>;
      try {
        whole = parseMarkdown(text, undefined);
      } catch {
        return;
      }
      if ((piecesOf(text, 1)?.length ?? 1) > 1) cut++;
      expect(JSON.stringify(parseMarkdown(text, 1))).toBe(JSON.stringify(whole));
    }),
    { numRuns: RUNS, ...SEED },
  );
  expect(cut).toBeGreaterThan(RUNS / 4);
});

describe("any document", () => {
  test("is read without a crash, in any form, and each diagnostic has a place and a fix", () => {
    fc.assert(
      fc.property(mutated, fc.constantFrom(undefined, ...FORMATS), (source, format) => {
        const { diagnostics } = parsePlan("PLAN.md", read(source), { format });
        const lines = source.split("\n").length;
        for (const { file, line, message, fix } of diagnostics) {
          expect(file).not.toBe("");
          expect(line).toBeGreaterThanOrEqual(1);
          if (file === "PLAN.md") expect(line).toBeLessThanOrEqual(lines);
          expect(message).not.toBe("");
          expect(fix).not.toBe("");
        }
      }),
      { numRuns: RUNS, ...SEED },
    );
  });

  test("marked with the state it already has is byte-identical; marked with another, reads back as exactly that", () => {
    fc.assert(
      fc.property(mutated, fc.array(fc.nat(2), { minLength: 12, maxLength: 12 }), (source, choices) => {
        const parsed = parsePlan("PLAN.md", read(source));
        if (!parsed.ok || parsed.plan.phases.length > 12 || parsed.plan.format === "master") return;
        const { plan } = parsed;
        let same = source;
        for (const { id, mark, tasks } of plan.phases) {
          const tasksDone = tasks.filter((task) => task.ticked).map((task) => task.id);
          same = markPlanFile(plan, "PLAN.md", same, { phase: id, status: undefined, tasksDone });
          expect(same).toBe(source);
          if (mark === undefined)
            expect(markPlanFile(plan, "PLAN.md", source, { phase: id, status: mark, tasksDone })).toBe(source);
        }
        let marked = source;
        const wanted = plan.phases.map(({ id, mark, tasks }, index) => {
          const status =
            choices[index] === 0 ? ("done" as const) : choices[index] === 1 ? ("failed" as const) : undefined;
          marked = markPlanFile(plan, "PLAN.md", marked, {
            phase: id,
            status,
            tasksDone: tasks.map((task) => task.id),
          });
          return status ?? mark;
        });
        const again = planOf(marked);
        if (again === undefined) throw new Error(`no plan any more:\n${marked}`);
        const said = again.phases.map((phase) => phase.mark);
        for (const [index, mark] of wanted.entries()) {
          const { id, tasks } = plan.phases[index] as Plan["phases"][number];
          // A phase file without a status field, or a checklist with every box ticked, can only say so much.
          if (plan.format === "phase-file") continue;
          // Where a phase is its own only task, its box says both.
          if (plan.format === "kiro" && tasks[0]?.id === id) continue;
          if (mark === undefined && SAID_BY_BOXES.has(plan.format) && tasks.length > 0) continue;
          // Some have no word for a failure, and a story without a status has no place for one.
          const wordless = ["kiro", "bmad"].includes(plan.format);
          const [top = ""] = source.split(/^#{2,} /m);
          if (plan.format === "bmad" && !/^\**status\**[^\S\n]*:/im.test(top)) continue;
          expect(said[index]).toBe(wordless && mark === "failed" ? plan.phases[index]?.mark : mark);
        }
        expect(again.phases.map((phase) => phase.tasks.every((task) => task.ticked))).toEqual(
          plan.phases.map(() => true),
        );
      }),
      { numRuns: RUNS, ...SEED },
    );
  });
});

function planOf(source: string): Plan | undefined {
  const parsed = parsePlan("PLAN.md", read(source));
  return parsed.plan;
}
