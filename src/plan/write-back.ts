/**
 * Marks in the user's plan files. Only the bytes of the marks change: the tree says where they are, the rest of the
 * source is copied. The file is read anew each time, so a user's edit in between is never undone.
 */
import { type Document, readDocument } from "./document.js";
import type { Draft } from "./draft.js";
import { readChecklist, readPhases, readTasks } from "./formats/headed.js";
import { readRows, resolveLink } from "./formats/master.js";
import { readAlone, readPhaseFile, subPhases } from "./formats/phase-file.js";
import { readTagged } from "./formats/tagged.js";
import { type Edit, type Sites, statusEdit } from "./mark-sites.js";
import { UnreadableMarkdown } from "./markdown.js";
import type { FormatName, Plan, PlanMark } from "./model.js";
import { withoutBom } from "./parse.js";

export interface PhaseMarks {
  phase: string;
  status: PlanMark | undefined;
  tasksDone: readonly string[];
  /** Of one that shares its file with others: whether all of these are done, so that the file's own status can say so. */
  completesFile?: boolean | undefined;
}

/** The new text of one plan file; the same string where nothing is to be marked. */
export function markPlanFile(plan: Plan, file: string, given: string, marks: PhaseMarks): string {
  try {
    return markReadable(plan, file, given, marks);
  } catch (error) {
    // Damaged since it was read: it stays as it is, and the next phase's reading says so.
    if (error instanceof UnreadableMarkdown) return given;
    throw error;
  }
}

function markReadable(plan: Plan, file: string, given: string, marks: PhaseMarks): string {
  const source = withoutBom(given);
  const bom = given.slice(0, given.length - source.length);
  const document = readDocument(file, source);
  return (
    bom +
    apply(
      source,
      sitesIn(plan, document, marks.phase).flatMap((sites) => editsOf(sites, marks, source)),
    )
  );
}

const ALONE: Record<Exclude<FormatName, "master">, (document: Document, plan: Plan) => Draft[]> = {
  // Whether its sub-phases were read apart shows in the plan's own ids.
  "phase-file": (document, plan) => {
    const { id } = readPhaseFile(document, {}).phase;
    const whole = plan.phases.some((phase) => phase.id === id);
    return readAlone(document, { subPhases: whole ? "together" : "separate" }).drafts;
  },
  phases: (document) => readPhases(document, {}).drafts,
  tasks: (document) => readTasks(document, {}).drafts,
  tagged: (document) => readTagged(document, {}).drafts,
  checklist: (document) => readChecklist(document, {}).drafts,
};

/** Every place in this file that says something about the phase. */
function sitesIn(plan: Plan, document: Document, id: string): Sites[] {
  if (plan.format !== "master") {
    return ALONE[plan.format](document, plan).flatMap((draft) => (draft.phase.id === id ? [draft.sites] : []));
  }
  const phase = plan.phases.find((candidate) => candidate.id === id);
  const sites: Sites[] = [];
  if (phase?.file === document.file) sites.push(...sitesInPhaseFile(document, id));
  if (plan.file === document.file && phase !== undefined) {
    const row = readRows(document).find((candidate) => resolveLink(document.file, candidate.url) === phase.file);
    if (row?.status !== undefined) sites.push({ status: row.status, ofWhole: true, boxes: new Map() });
  }
  return sites;
}

/** A phase file, or one of the sub-phases in it that are phases of their own. */
function sitesInPhaseFile(document: Document, id: string): Sites[] {
  const whole = readPhaseFile(document, {});
  const own = subPhases(document, whole.phase).filter(({ phase }) => phase.id === id);
  if (own.length === 0) return [whole.sites];
  return [...own.map(({ sites }) => sites), { status: whole.sites.status, ofWhole: true, boxes: new Map() }];
}

function editsOf({ status, boxes, ofWhole }: Sites, marks: PhaseMarks, source: string): Edit[] {
  const edits: Edit[] = [];
  for (const id of new Set(marks.tasksDone)) {
    const at = boxes.get(id);
    if (at !== undefined && source[at] === " ") edits.push({ start: at, end: at + 1, text: "x" });
  }
  if (
    marks.status !== undefined &&
    status !== undefined &&
    !(ofWhole === true && marks.status === "done" && marks.completesFile === false) &&
    !isSaidByBoxes(status, boxes, edits, source, marks.status)
  ) {
    edits.push(statusEdit(status, marks.status));
  }
  return edits;
}

/** A checklist whose boxes are all ticked says by itself that it is done: no tag is added. */
function isSaidByBoxes(
  status: NonNullable<Sites["status"]>,
  boxes: Sites["boxes"],
  edits: readonly Edit[],
  source: string,
  mark: PlanMark,
): boolean {
  if (mark !== "done" || status.type !== "tag" || status.existing !== undefined || boxes.size === 0) return false;
  const ticked = new Set(edits.map((edit) => edit.start));
  return status.saidByBoxes && [...boxes.values()].every((at) => ticked.has(at) || source[at] !== " ");
}

function apply(source: string, edits: readonly Edit[]): string {
  let result = "";
  let from = 0;
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    result += source.slice(from, start) + text;
    from = end;
  }
  return result + source.slice(from);
}
