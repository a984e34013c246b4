/**
 * Marks in the user's plan files. Only the bytes of the marks change: the tree says where they are, the rest of the
 * source is copied. The file is read anew each time, so a user's edit in between is never undone.
 */
import { readMaster, resolveLink } from "./formats/master.js";
import { readPhaseFile } from "./formats/phase-file.js";
import { startOf } from "./markdown.js";
import type { Plan } from "./model.js";
import { STATUS_WORDS } from "./statuses.js";

export interface PhaseMarks {
  phase: string;
  status: "done" | "failed";
  tasksDone: readonly string[];
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** The new text of one plan file; the same string where nothing is to be marked. */
export function markPlanFile(plan: Plan, file: string, source: string, marks: PhaseMarks): string {
  const edits: Edit[] = [];
  const phase = plan.phases.find((candidate) => candidate.id === marks.phase);
  if (phase === undefined) return source;
  if (phase.file === file) edits.push(...phaseFileEdits(source, file, marks));
  if (plan.file === file) edits.push(...masterEdits(source, file, phase.file, marks));
  return apply(source, edits);
}

function phaseFileEdits(source: string, file: string, marks: PhaseMarks): Edit[] {
  const read = readPhaseFile(source, file);
  const edits: Edit[] = [];
  if (read.status !== undefined) edits.push(replace(read.status, STATUS_WORDS[marks.status]));
  const done = new Set(marks.tasksDone);
  for (const task of read.tasks) {
    if (task.ticked || !done.has(task.id)) continue;
    const bracket = source.indexOf("[", startOf(task.item));
    edits.push({ start: bracket + 1, end: bracket + 2, text: "x" });
  }
  return edits;
}

function masterEdits(source: string, file: string, phaseFile: string, marks: PhaseMarks): Edit[] {
  const row = readMaster(source)?.rows.find((candidate) => resolveLink(file, candidate.url) === phaseFile);
  return row?.status === undefined ? [] : [replace(row.status, STATUS_WORDS[marks.status])];
}

const replace = (span: { value: string; start: number; end: number }, text: string): Edit => ({
  start: span.start,
  end: span.end,
  text: span.value === text ? span.value : text,
});

function apply(source: string, edits: Edit[]): string {
  let result = source;
  for (const edit of edits.toSorted((a, b) => b.start - a.start)) {
    result = result.slice(0, edit.start) + edit.text + result.slice(edit.end);
  }
  return result;
}
