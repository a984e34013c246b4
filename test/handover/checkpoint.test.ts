import { describe, expect, test } from "vitest";
import { toolKind } from "../../src/agents/claude/tools.js";
import { audit } from "../../src/handover/audit.js";
import { readBlock } from "../../src/handover/block.js";
import { renderBounded, roughTokens } from "../../src/handover/bounded.js";
import { type CheckpointView, renderCheckpoint } from "../../src/handover/checkpoint.js";
import { readHanded, writeHanded } from "../../src/handover/handed.js";
import { emptyLedger, recordFact } from "../../src/handover/ledger.js";

const task = (id: string) => ({ id, title: `Task ${id}`, ticked: false, file: "PLAN.md", line: 1 });
const claims = { goal: "Do it.", completed: [], remaining: [], do_not_redo: [], decisions: [] };
const view = (more: Partial<CheckpointView> = {}): CheckpointView => ({
  handed: { type: "tool", claims },
  ledger: emptyLedger(),
  files: [],
  tasks: [],
  tasksDone: [],
  session: undefined,
  tokens: 2_000,
  ...more,
});

describe("the block in an answer", () => {
  test.each([
    ["plain", "Here: <checkpoint>\nthe work\n</checkpoint> bye", "the work"],
    ["in a fence", "```xml\n<checkpoint>\nthe work\n</checkpoint>\n```", "the work"],
    ["a fence inside", "<checkpoint>\n```markdown\nthe work\n```\n</checkpoint>", "the work"],
    ["tildes", "~~~\n<checkpoint>\nthe work\n</checkpoint>\n~~~", "the work"],
    ["never closed", "<checkpoint>\nthe work, cut off in the mid", "the work, cut off in the mid"],
    ["never closed, fenced", "```\n<checkpoint>\nthe work\n```", "the work"],
    ["upper case", "<CHECKPOINT>the work</CHECKPOINT>", "the work"],
  ])("%s", (_, answer, expected) => {
    expect(readBlock(answer)).toBe(expected);
  });

  test("no block, or an empty one, is none", () => {
    expect(readBlock("all is well")).toBeUndefined();
    expect(readBlock("<checkpoint>\n</checkpoint>")).toBeUndefined();
  });
});

describe("the audit", () => {
  const tasks = ["1.1", "1.2", "1.10", "1.3"].map(task);
  const files = [
    { path: "src/a.ts", kind: "M" as const },
    { path: "new.md", kind: "R" as const, from: "old.md" },
  ];
  const evidence = { files, tasks, tasksDone: ["1.1"] };

  test("marks a file that git does not know as changed", () => {
    const completed = [
      "src/a.ts: done",
      "`src/b.ts`: rewritten",
      "/home/you/repo/src/a.ts: again",
      "old.md: renamed",
      "no file at all",
    ];
    const audited = audit({ ...claims, completed, remaining: ["1.2", "1.10", "1.3"] }, evidence);
    expect(audited.claims.completed[1]).toBe("`src/b.ts`: rewritten [Segno: git shows no change of src/b.ts]");
    expect(audited.contradictions).toHaveLength(1);
  });

  test("marks a task called done that was never reported, one called open that was, and one that was forgotten", () => {
    const audited = audit(
      { ...claims, do_not_redo: ["1.1 fine", "1.10 done too"], remaining: ["1.1 again", "1.3"] },
      evidence,
    );
    expect(audited.claims.do_not_redo).toEqual([
      "1.1 fine",
      "1.10 done too [Segno: task 1.10 was never reported as done]",
    ]);
    expect(audited.claims.remaining[0]).toContain("[Segno: task 1.1 was reported as done]");
    expect(audited.contradictions.at(-2)).toBe(
      "Task 1.2 is not done, and the previous session does not name it among what remains.",
    );
    expect(audited.contradictions.at(-1)).toContain("Task 1.10 is not done");
  });

  test("what is contradicted stands in the text that the next session gets", () => {
    const handed = { type: "tool" as const, claims: { ...claims, completed: ["ghost.ts: written"] } };
    const { text, contradictions } = renderCheckpoint(view({ handed, tasks, tasksDone: [] }));
    expect(text).toContain("[Segno: git shows no change of ghost.ts]");
    expect(contradictions.length).toBe(5);
  });
});

describe("a checkpoint's size", () => {
  test("is bounded, the longest lists are cut first, with a count, and every remaining task is named", () => {
    const tasks = Array.from({ length: 60 }, (_, n) => task(`1.${n + 1}`));
    const long = Array.from({ length: 200 }, (_, n) => `src/file-${n}.ts: ${"changed in many ways ".repeat(10)}`);
    const handed = {
      type: "tool" as const,
      claims: { ...claims, completed: long, remaining: tasks.map(({ id }) => id) },
    };
    const ledger = emptyLedger();
    for (let n = 0; n < 300; n++)
      recordFact(ledger, {
        type: "decision-recorded",
        phase: "1",
        attempt: 1,
        session: "s",
        text: `decision ${n} ${"x".repeat(300)}`,
      });
    const files = Array.from({ length: 80 }, (_, n) => ({
      path: `src/file-${n}.ts`,
      kind: "M" as const,
      added: 3,
      removed: 1,
    }));
    const { text } = renderCheckpoint(view({ handed, ledger, tasks, files, tasksDone: ["1.1"] }));
    expect(roughTokens(text)).toBeLessThanOrEqual(2_000);
    for (const { id } of tasks.slice(1)) expect(text).toMatch(new RegExp(`[ ,]${id.replace(".", "\\.")}[,.\\s]`));
    expect(text).toMatch(/… and \d+ more/);
    expect(text).toContain("decision 299");
    expect(text).toContain("src/file-0.ts");
  });

  test("only checkpoint_tokens limits it: a long answer and long items are whole where there is room", () => {
    const text = "All of it matters. ".repeat(400).trim();
    const answer = (tokens: number) => renderCheckpoint(view({ handed: { type: "answer", text }, tokens })).text;
    expect(text.length).toBeGreaterThan(7_000);
    expect(answer(10_000)).toContain(text);
    expect(roughTokens(answer(1_000))).toBeLessThanOrEqual(1_000);
    expect(answer(1_000)).toContain("characters left out");
    const decision = `Keep it: ${"because of this, ".repeat(60)}`.trim();
    const item = (tokens: number) =>
      renderCheckpoint(view({ handed: { type: "tool", claims: { ...claims, decisions: [decision] } }, tokens })).text;
    expect(item(10_000)).toContain(decision);
    expect(item(300)).not.toContain(decision);
  });

  test("sections that fit are left whole", () => {
    const text = renderBounded([{ words: "Things:", items: ["a", "b"], keep: "first", least: 1 }], 100);
    expect(text).toBe("Things:\n- a\n- b");
  });
});

describe("the ledger", () => {
  const place = { phase: "1", attempt: 1, session: "1/a1/session/1" };
  const tool = (name: string, brief: string, ok = true) =>
    ({ type: "tool-finished", ...place, kind: toolKind(name), tool: name, brief, ok, subagent: false }) as const;

  test("keeps the last command of each kind, sub-agents that finished, errors, questions and answers", () => {
    const ledger = emptyLedger();
    for (const fact of [
      tool("Bash", "npm test -- one", false),
      tool("Bash", "npm test -- two"),
      tool("Bash", "npm run build"),
      tool("Agent", "look into the parser"),
      tool("Edit", "src/a.ts", false),
    ])
      recordFact(ledger, fact);
    recordFact(ledger, {
      type: "question-asked",
      question: "q",
      kind: "context",
      phase: "1",
      text: "Go on?",
      choices: [],
      fallback: "stop",
      minutes: 1,
    });
    recordFact(ledger, { type: "question-answered", question: "q", phase: "1", choice: "continue", by: "me" });
    const { text } = renderCheckpoint(
      view({ handed: undefined, ledger, files: [{ path: "a", kind: "R", from: "b", added: 2, removed: 1 }] }),
    );
    expect(text).toContain("ok: npm test -- two");
    expect(text).not.toContain("failed: npm test -- one");
    expect(text).toContain("ok: npm run build");
    expect(text).toContain("look into the parser");
    expect(text).toContain("Edit src/a.ts");
    expect(text).toContain("Go on? → continue (me)");
    expect(text).toContain("a (renamed from b, +2 −1)");
  });

  test("what was reported with a task's id is told, the newest in full", () => {
    const ledger = emptyLedger();
    const long = `The parser keeps positions; ${"so that every diagnostic can name its line, ".repeat(10)}`.trim();
    recordFact(ledger, { type: "progress-reported", ...place, task: "1.1", message: "The lexer is written" });
    recordFact(ledger, { type: "progress-reported", ...place, task: "1.2", message: long });
    const { text } = renderCheckpoint(view({ ledger }));
    expect(text).toContain("1.1: The lexer is written");
    expect(text).toContain(`1.2: ${long}`);
  });

  test("a git that cannot be read is not the same as no change", () => {
    const { text, contradictions } = renderCheckpoint(
      view({ files: undefined, handed: { type: "tool", claims: { ...claims, completed: ["src/a.ts: written"] } } }),
    );
    expect(text).toContain("Git could not be read");
    expect(text).not.toContain("Git shows no changed file");
    expect(contradictions.join()).not.toContain("git shows no change");
  });

  test("a session that reported nothing is said to have", () => {
    const ledger = emptyLedger();
    const silent = () => renderCheckpoint(view({ ledger, session: place.session })).text;
    expect(silent()).toContain("reported no progress");
    recordFact(ledger, { type: "progress-reported", ...place, message: "half way" });
    expect(silent()).not.toContain("reported no progress");
  });
});

describe("what was handed over, as it is kept", () => {
  const handed = {
    type: "tool" as const,
    claims: { ...claims, completed: ['src/ä.ts: "quoted"', "b"], decisions: ["use 1.2"] },
  };

  test("reads back what was written", () => {
    expect(readHanded(writeHanded(handed))).toEqual(handed);
  });

  test("a text of version 0.1 is an answer, and one of a newer schema is refused", () => {
    expect(readHanded("Goal: x")).toEqual({ type: "answer", text: "Goal: x" });
    expect(readHanded(writeHanded(handed).replace('"schema":1', '"schema":2'))).toBeUndefined();
  });
});
