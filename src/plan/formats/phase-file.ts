/** One phase file of the master-plan form: `# Phase 6: Title`, fields, Process Wrapper, Gates, Tasks, Files. */
import type { RootContent } from "mdast";
import { readCheckboxes } from "../checkboxes.js";
import { readDependencies } from "../depends.js";
import { contentOf, type Document, goalOf, preambleOf, type Section, sourceOf } from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrder } from "../draft.js";
import { DEPENDS, type Field, fieldsOf, findField, STATUS } from "../fields.js";
import type { Form } from "../form.js";
import { readGateItems } from "../gates.js";
import { codesOf, descendantsOf, itemParagraph, itemsOf, lineOf, textOf } from "../markdown.js";
import type { Diagnostic, Gate, Phase, PlanOptions } from "../model.js";
import { markOf } from "../statuses.js";

const TITLE = /\bPhase\s+([A-Za-z0-9][\w.]*)\s*[:—–-]\s*(.+)$/i;
const SUB_PHASE = /^Sub-Phase\s+([A-Za-z0-9][\w.]*)\s*[:—–-]\s*(.+)$/i;

export interface PhaseFile extends Draft {
  dependsOn: Field | undefined;
  diagnostics: Diagnostic[];
}

/** Whether its sub-phases were read apart shows in the plan's own ids. */
export const PHASE_FILE: Form = {
  name: "phase-file",
  looksFor: "a phase file: `# Phase 1: Title` with `## Tasks`",
  fits: (document) => isPhaseFile(document),
  read: (document, _, options) => readAlone(document, options),
  sites: (document, plan, phase) => {
    const { id } = readPhaseFile(document, {}).phase;
    const whole = plan.phases.some((candidate) => candidate.id === id);
    const { drafts } = readAlone(document, { subPhases: whole ? "together" : "separate" });
    return drafts.flatMap((draft) => (draft.phase.id === phase ? [draft.sites] : []));
  },
};

const isPhaseFile = ({ sections }: Document): boolean => {
  const [first] = sections;
  return first !== undefined && first.heading.depth === 1 && TITLE.test(first.title) && sections.some(isTasks);
};

const isTasks = ({ title }: Section): boolean => /^tasks\b/i.test(title);
const isGates = ({ title }: Section): boolean => /^gates\b/i.test(title);

export function readPhaseFile(document: Document, options: PlanOptions): PhaseFile {
  const { file, source, sections } = document;
  const [first] = sections;
  const match = TITLE.exec(first?.title ?? "");
  const phase = emptyPhase(file, 1, match?.[1] ?? "", match?.[2]?.trim() ?? first?.title ?? "", source);
  const fields = fieldsOf(preambleOf(document), source);
  const status = findField(fields, STATUS);
  const diagnostics: Diagnostic[] = [];
  const boxes = readCheckboxes(document, taskNodes(document), "");
  phase.tasks = boxes.map((box) => box.task);
  phase.mark = status === undefined ? undefined : markOf(status.value);
  for (const section of sections) readSection(document, section, phase, diagnostics, options);
  return {
    phase,
    sites: {
      status:
        status === undefined ? undefined : { type: "value", start: status.start, end: status.end, value: status.value },
      boxes: new Map(boxes.map(({ task, at }) => [task.id, at])),
    },
    dependsOn: findField(fields, DEPENDS),
    diagnostics,
  };
}

/** All that stands under headings named Tasks; where they nest, once. */
function taskNodes(document: Document): RootContent[] {
  let until = 0;
  return document.sections.filter(isTasks).flatMap((section) => {
    if (section.from <= until) return [];
    until = section.end;
    return contentOf(document, section);
  });
}

function readSection(
  document: Document,
  section: Section,
  phase: Phase,
  diagnostics: Diagnostic[],
  options: PlanOptions,
): void {
  const { title } = section;
  const content = () => contentOf(document, section);
  if (isGates(section)) {
    const read = readGateItems(content(), document.file, options);
    phase.gates.push(
      ...read.gates.map((gate) => ({ ...gate, id: `g${phase.gates.length + Number(gate.id.slice(1))}` })),
    );
    diagnostics.push(...read.diagnostics);
  } else if (/^process wrapper\b/i.test(title)) readWrapper(content(), phase, document.file);
  else if (/^files\b.*\b(create|modify|change)/i.test(title) || /^files$/i.test(title))
    phase.files = filesIn(content());
  else if (/^acceptance criteria\b/i.test(title)) phase.criteria = itemTexts(content());
  else if (/\bread (these|this) first\b|^(critical )?files to read\b/i.test(title)) {
    phase.readFirst = [...new Set([...phase.readFirst, ...codesOf(content()).filter(isPath)])];
  }
}

/** The wrapper is text for the agent; what it says about notes is also ours to look after. Its code is no gate. */
function readWrapper(content: RootContent[], phase: Phase, file: string): void {
  for (const item of itemsOf(content)) {
    const paragraph = itemParagraph(item);
    if (paragraph === undefined) continue;
    const text = textOf(paragraph).trim();
    const paths = codesOf(paragraph.children).filter(isPath);
    if (/^read\b/i.test(text)) phase.readFirst = [...new Set([...phase.readFirst, ...paths])];
    const [note] = paths;
    if (/^write\b/i.test(text) && note !== undefined) phase.gates.push(noteGate(note, file, lineOf(item)));
  }
}

/** A note that must be written and is not is a failed phase. */
const noteGate = (path: string, file: string, line: number): Gate => ({
  id: `note-${path}`,
  name: `note ${path}`,
  check: { type: "file", path },
  file,
  line,
});

export const isPath = (text: string): boolean => /^[\w@./~-]+$/.test(text) && /[./]/.test(text) && !/^\.+$/.test(text);

/** Paths in the first column of a table, or at the beginning of list items. */
export function filesIn(content: readonly RootContent[]): string[] {
  const files = content.flatMap((node) => {
    if (node.type === "table")
      return node.children.slice(1).flatMap((row) => codesOf(row.children.slice(0, 1)).slice(0, 1));
    return node.type === "list" ? node.children.flatMap((item) => codesOf(item.children).slice(0, 1)) : [];
  });
  return [...new Set(files.filter(isPath))];
}

export const itemTexts = (content: readonly RootContent[]): string[] =>
  [...itemsOf(content)].flatMap((item) => {
    const paragraph = itemParagraph(item);
    return paragraph === undefined ? [] : [textOf(paragraph).trim()];
  });

/** A phase file alone: a plan of one phase, or of its sub-phases where the user wants them apart. */
function readAlone(document: Document, options: PlanOptions): FormRead {
  const read = readPhaseFile(document, options);
  const { phase, sites, diagnostics } = read;
  const outside = readDependencies(read.dependsOn, { known: [], self: phase.id, idOfLink: () => undefined });
  if (outside.length > 0) {
    diagnostics.push({
      severity: "warning",
      file: document.file,
      line: read.dependsOn?.line ?? 1,
      message: `Phase ${phase.id} depends on ${outside.join(", ")}, which ${outside.length === 1 ? "is" : "are"} not part of this file: taken as done.`,
      fix: "Run the master plan instead, if they are not.",
    });
  }
  const subs = options.subPhases === "separate" ? subPhases(document, phase) : [];
  const drafts = subs.length > 1 ? subs : [{ phase, sites }];
  return { title: document.sections[0]?.title ?? document.file, goal: goalOf(document), drafts, diagnostics };
}

/** `### Sub-Phase 6A: …` as phases of their own, in order, each with the gates of the whole. */
export function subPhases(document: Document, parent: Phase): Draft[] {
  const drafts = document.sections.flatMap((section): Draft[] => {
    const match = SUB_PHASE.exec(section.title);
    if (match === null) return [];
    const [, id, title] = match as unknown as [string, string, string];
    const content = contentOf(document, section);
    const boxes = readCheckboxes(document, content, id);
    const gates = parent.gates.filter((gate) => gate.check.type !== "file");
    const phase = {
      ...emptyPhase(document.file, section.line, id, title.trim(), sourceOf(document, section)),
      tasks: boxes.map((box) => box.task),
      gates,
      mark: boxes.length > 0 && boxes.every((box) => box.task.ticked) ? ("done" as const) : undefined,
      readFirst: parent.readFirst,
      files: [...descendantsOf(content)].flatMap((node) => (node.type === "table" ? filesIn([node]) : [])),
    };
    return [{ phase, sites: { status: undefined, boxes: new Map(boxes.map(({ task, at }) => [task.id, at])) } }];
  });
  inOrder(drafts);
  return drafts;
}
