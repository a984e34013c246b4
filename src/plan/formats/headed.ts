/** One file with a heading per phase: `### Phase 1: Title`, `### Task 1: Title`, or any heading with checkboxes under it. */
import type { RootContent } from "mdast";
import { readCheckboxes } from "../checkboxes.js";
import { readDependencies } from "../depends.js";
import {
  contentOf,
  type Document,
  goalOf,
  innerSections,
  ownContentOf,
  type Section,
  sourceOf,
  titleOf,
} from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrder } from "../draft.js";
import { DEPENDS, type Field, fieldsOf, findField, STATUS } from "../fields.js";
import type { Form } from "../form.js";
import { readCommandList, readCriterionGates, readGateItems, testGate } from "../gates.js";
import { type StatusSite, tagSite, untagged } from "../mark-sites.js";
import { codesOf, endOf, itemsOf, startOf, textOf } from "../markdown.js";
import type { Diagnostic, Gate, PlanOptions } from "../model.js";
import { markOf } from "../statuses.js";
import { filesIn, isPath, itemTexts } from "./phase-file.js";

const PHASE = /^phase\s+([A-Za-z0-9][\w.-]*)\s*[:—–-]\s*(.+)$/i;
const TASK = /^task\s+([A-Za-z0-9][\w.-]*)\s*[:—–-]\s*(.+)$/i;

const phaseSections = (document: Document): Section[] => headed(document, PHASE);
const taskSections = (document: Document): Section[] => headed(document, TASK);

/** Headings of this form; where they nest, the outermost count. */
function headed({ sections }: Document, form: RegExp): Section[] {
  let until = 0;
  return sections.filter((section) => {
    if (section.from <= until || !form.test(untagged(section.title))) return false;
    until = section.end;
    return true;
  });
}

/** Headings with checkboxes directly under them. */
function checklistSections(document: Document): Section[] {
  return document.sections.filter((section) =>
    ownContentOf(document, section).some(
      (node) => node.type === "list" && node.children.some((item) => typeof item.checked === "boolean"),
    ),
  );
}

export const PHASES: Form = {
  name: "phases",
  looksFor: "headings like `### Phase 1: Title`",
  fits: (document) => phaseSections(document).length > 0,
  read: (document, _, options) => readHeaded(document, phaseSections(document), PHASE, options),
};

export const TASKS: Form = {
  name: "tasks",
  looksFor: "headings like `### Task 1: Title`",
  fits: (document) => taskSections(document).length > 0,
  read: (document, _, options) => readHeaded(document, taskSections(document), TASK, options),
};

export const CHECKLIST: Form = {
  name: "checklist",
  looksFor: "headings with checkboxes under them",
  fits: (document) => checklistSections(document).length > 0,
  read: (document, _, options) => readChecklist(document, options),
};

interface Named {
  section: Section;
  draft: Draft;
  depends: Field | undefined;
  wave: number | undefined;
}

function readHeaded(document: Document, sections: readonly Section[], form: RegExp, options: PlanOptions): FormRead {
  const diagnostics: Diagnostic[] = [];
  const shared = sharedGates(document, sections, options);
  const named = sections.map((section) => readSection(document, section, form, shared, diagnostics, options));
  const known = named.map(({ draft }) => draft.phase.id);
  if (named.some(({ depends }) => depends !== undefined)) {
    for (const { draft, depends } of named) {
      draft.phase.dependsOn = readDependencies(depends, { known, self: draft.phase.id, idOfLink: () => undefined });
    }
  } else if (named.some(({ wave }) => wave !== undefined)) inWaves(named);
  else inOrder(named.map(({ draft }) => draft));
  return { title: titleOf(document), goal: goalOf(document), drafts: named.map(({ draft }) => draft), diagnostics };
}

function readSection(
  document: Document,
  section: Section,
  form: RegExp,
  shared: readonly Gate[],
  diagnostics: Diagnostic[],
  options: PlanOptions,
): Named {
  const { file, source } = document;
  const match = form.exec(untagged(section.title));
  const id = match?.[1] ?? section.title;
  const content = contentOf(document, section);
  const fields = fieldsOf(content, source);
  const boxes = readCheckboxes(document, content, id);
  const { site, mark } = statusOf(section, fields, source);
  const own: Gate[] = [];
  for (const inner of innerSections(document, section)) {
    if (/^gates\b/i.test(inner.title)) {
      const read = readGateItems(contentOf(document, inner), file, options);
      own.push(...read.gates);
      diagnostics.push(...read.diagnostics);
    }
    if (/^acceptance criteria\b/i.test(inner.title))
      own.push(...readCriterionGates(itemsOf(contentOf(document, inner)), file));
  }
  const labelled = labelledLists(content);
  const text = sourceOf(document, section);
  const run = lastRun(text);
  if (run !== undefined && !own.some(({ check }) => check.type === "command" && check.command === run))
    own.push({ id: "run", name: run.slice(0, 60), check: { type: "command", command: run }, file, line: section.line });
  const phase = {
    ...emptyPhase(file, section.line, id, match?.[2]?.trim() ?? section.title, text),
    tasks: boxes.map((box) => box.task),
    gates: [...own, ...shared].map((gate, index) => ({ ...gate, id: `g${index + 1}` })),
    mark,
    files: [
      ...new Set([
        ...filesIn(content.filter((node) => node.type === "table")),
        ...pathsOf(labelled.get("files") ?? []),
      ]),
    ],
    criteria: [
      ...innerSections(document, section)
        .filter(({ title }) => /^acceptance criteria\b/i.test(title))
        .flatMap((inner) => itemTexts(contentOf(document, inner))),
      ...itemTexts(labelled.get("acceptance criteria") ?? []),
    ],
  };
  const wave = findField(fields, /^wave$/i);
  return {
    section,
    draft: { phase, sites: { status: site, boxes: new Map(boxes.map(({ task, at }) => [task.id, at])) } },
    depends: findField(fields, DEPENDS),
    wave:
      wave === undefined || Number.isNaN(Number.parseInt(wave.value, 10)) ? undefined : Number.parseInt(wave.value, 10),
  };
}

/** Lists that a line like `**Files:**` stands above, by its word. */
function labelledLists(content: readonly RootContent[]): Map<string, RootContent[]> {
  const lists = new Map<string, RootContent[]>();
  let label: string | undefined;
  for (const node of content) {
    if (node.type === "paragraph" && node.children[0]?.type === "strong")
      label = textOf(node.children[0]).replace(/:\s*$/, "").trim().toLowerCase();
    else if (node.type === "list" && label !== undefined) lists.set(label, [...(lists.get(label) ?? []), node]);
    else label = undefined;
  }
  return lists;
}

/** `- Create: \`src/a.ts\``, `- Modify: \`src/b.ts:10-20\``. */
const pathsOf = (lists: readonly RootContent[]): string[] =>
  codesOf(lists)
    .map((code) => code.replace(/:\d+(?:[-,]\d+)*$/, ""))
    .filter(isPath);

const RUN = /^[ \t>*-]*Run:?\**:?[ \t]*`([^`\n]+)`[^\n]*\n(?:[ \t]*\n)?[ \t>*-]*Expected:?\**:?[ \t]*\**([^\n]+)/gim;

/** What the last step runs, where it is expected to pass: that it does is what shows that the work is done. */
function lastRun(text: string): string | undefined {
  const last = [...text.replaceAll("\r", "").matchAll(RUN)].at(-1);
  return last !== undefined && isPass(last[2] ?? "") ? last[1]?.trim() : undefined;
}

/** `PASS`, `All tests pass`, `exit 0, 5 passed, 0 failed`; not `FAIL with …`. */
function isPass(expected: string): boolean {
  const said = expected.replaceAll(/\b(?:0|no) (?:failed|failures?|errors?)\b/gi, "ok");
  return /\b(?:pass(?:es|ed|ing)?|ok|success\w*|exit(?:s|ed)?(?: code)?:? 0)\b/i.test(said) && !/\bfail/i.test(said);
}

/** A status field where there is one, else a tag behind the heading. */
function statusOf(
  section: Section,
  fields: readonly Field[],
  source: string,
): { site: StatusSite; mark: ReturnType<typeof markOf> } {
  const field = findField(fields, STATUS);
  if (field !== undefined) {
    return {
      site: { type: "value", start: field.start, end: field.end, value: field.value },
      mark: markOf(field.value),
    };
  }
  return tagSite(source, section.heading);
}

/** Phases of a wave wait for all of the wave before. */
function inWaves(named: readonly Named[]): void {
  const waves = [...new Set(named.map(({ wave }) => wave ?? 1))].sort((a, b) => a - b);
  for (const { draft, wave } of named) {
    const before = waves[waves.indexOf(wave ?? 1) - 1];
    draft.phase.dependsOn = named
      .filter((other) => before !== undefined && (other.wave ?? 1) === before)
      .map((other) => other.draft.phase.id);
  }
}

/** Commands that are gates of every phase: `## Validation Commands`, and a test command the plan names. */
function sharedGates(document: Document, phases: readonly Section[], { testCommand }: PlanOptions): Gate[] {
  const { file, source, sections } = document;
  const gates: Gate[] = [];
  for (const section of sections) {
    if (/^validation commands?\b/i.test(section.title))
      gates.push(...readCommandList(ownContentOf(document, section), file));
  }
  const first = phases[0]?.from ?? 0;
  const fields = fieldsOf(document.root.children.slice(0, Math.max(0, first - 1)), source);
  const named = findField(fields, /^test commands?$/i);
  const command =
    testCommand ?? (named === undefined ? undefined : (/`([^`]+)`/.exec(named.value)?.[1] ?? named.value));
  if (command !== undefined && command !== "") gates.push(testGate(command, file, named?.line ?? 1));
  return gates;
}

/** A plain checklist: each heading with boxes is a phase, in order. */
function readChecklist(document: Document, options: PlanOptions): FormRead {
  const { file, source } = document;
  const sections = checklistSections(document);
  const shared = sharedGates(document, sections, options).map((gate, index) => ({ ...gate, id: `g${index + 1}` }));
  const drafts = sections.map((section, index): Draft => {
    const content = ownContentOf(document, section);
    const id = String(index + 1);
    const boxes = readCheckboxes(document, content, id);
    const { site, mark } = tagSite(source, section.heading, true);
    const last = content.at(-1);
    const text = source.slice(startOf(section.heading), last === undefined ? endOf(section.heading) : endOf(last));
    const title = untagged(section.title) || `Part ${id}`;
    const allTicked = boxes.length > 0 && boxes.every((box) => box.task.ticked);
    return {
      phase: {
        ...emptyPhase(file, section.line, id, title, text),
        tasks: boxes.map((box) => box.task),
        gates: shared,
        criteria: itemTexts(labelledLists(content).get("acceptance criteria") ?? []),
        mark: mark ?? (allTicked ? "done" : undefined),
      },
      sites: { status: site, boxes: new Map(boxes.map(({ task, at }) => [task.id, at])) },
    };
  });
  inOrder(drafts);
  return { title: titleOf(document), goal: goalOf(document), drafts, diagnostics: [] };
}
