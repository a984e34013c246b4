/**
 * Marks in the user's plan files. Only the bytes of the marks change: the tree says where they are, the rest of the
 * source is copied. The file is read anew each time, so a user's edit in between is never undone.
 */
import { type Document, readDocument } from "./document.js";
import { formOf } from "./forms.js";
import { type Edit, type Sites, statusEdit } from "./mark-sites.js";
import { UnreadableMarkdown } from "./markdown.js";
import { isDone, type Plan, type PlanMark } from "./model.js";
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

/** Nothing beside the file says where its marks stand. */
const NOTHING_BESIDE = () => undefined;

/** Every place in this file that says something about the phase. */
function sitesIn(plan: Plan, document: Document, id: string): Sites[] {
  const form = formOf(plan.format);
  if (form.sites !== undefined) return form.sites(document, plan, id);
  const { drafts } = form.read(document, NOTHING_BESIDE, {});
  return drafts.flatMap((draft) => (draft.phase.id === id ? [draft.sites] : []));
}

function editsOf({ status, boxes, words, groups = [], ofWhole }: Sites, marks: PhaseMarks, source: string): Edit[] {
  const edits: Edit[] = [];
  const done = new Set(marks.tasksDone);
  const tick = (at: number | undefined): void => {
    if (at !== undefined && OPEN.test(source[at] ?? "")) edits.push({ start: at, end: at + 1, text: "x" });
  };
  for (const id of done) {
    tick(boxes.get(id));
    const word = words?.get(id);
    if (word !== undefined && !isDone(word.says)) edits.push({ start: word.start, end: word.end, text: word.done });
  }
  if (isDone(marks.status))
    for (const { at, tasks } of groups)
      if (tasks.every((id) => done.has(id) || isTickedAt(boxes.get(id), source))) tick(at);
  if (
    marks.status !== undefined &&
    status !== undefined &&
    !(ofWhole === true && isDone(marks.status) && marks.completesFile === false) &&
    !isSaidByBoxes(status, boxes, edits, source, marks.status)
  ) {
    const edit = statusEdit(status, marks.status, source);
    const isThere = edit === undefined || edits.some(({ start }) => start === edit.start);
    if (edit !== undefined && !isThere && !(status.type === "box" && !OPEN.test(source[status.at] ?? "")))
      edits.push(edit);
  }
  return edits;
}

/** Marks of boxes that are not done: begun and queued ones included. */
const OPEN = /^[ ~-]$/;

const isTickedAt = (at: number | undefined, source: string): boolean =>
  at !== undefined && !OPEN.test(source[at] ?? " ");

/** A checklist whose boxes are all ticked says by itself that it is done: no tag is added, unless nobody verified it. */
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
