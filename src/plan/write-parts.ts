/**
 * The sub-phases of a phase that was split, written under it in the user's plan: a quotation, so that no form of plan
 * takes it for tasks or phases. Where it would change how the plan is read, nothing is written.
 */
import { readDocument } from "./document.js";
import { UnreadableMarkdown } from "./markdown.js";
import type { Plan } from "./model.js";
import { markPlanFile } from "./write-back.js";

interface Part {
  id: string;
  title: string;
  tasks: readonly string[];
  status: string;
}

const HEAD = "> **Split by Segno:**";

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** One plan file with what is said of the parts; the same string where nothing is to be said, or it cannot be. */
export function partsIn(plan: Plan, file: string, source: string, phase: string, parts: readonly Part[]): string {
  const planned = plan.phases.find((candidate) => candidate.id === phase);
  if (parts.length === 0 || planned === undefined || planned.file !== file) return source;
  const eol = source.includes("\r\n") ? "\r\n" : "\n";
  const said = parts.map(
    ({ id, title, tasks, status }) => `> ${id} ${oneLine(title)} (${tasks.join(", ")}): ${status}  `,
  );
  const block = [`${HEAD} phase ${phase}  `, ...said].join(eol);
  const next = replaced(source, phase, block, eol) ?? inserted(plan, source, planned.text, block, eol);
  return next !== undefined && readsTheSame(plan, file, source, next) ? next : source;
}

/** A file without what was said of parts, whoever's they are. */
export function withoutParts(source: string): string {
  const eol = source.includes("\r\n") ? "\r\n" : "\n";
  const lines = source.split(eol);
  const kept: string[] = [];
  let inside = false;
  for (const line of lines) {
    inside = line.startsWith(HEAD) || (inside && line.startsWith(">"));
    if (!inside) kept.push(line);
  }
  return kept
    .join(eol)
    .replaceAll(/(\r?\n){3,}/g, `${eol}${eol}`)
    .trimEnd();
}

function replaced(source: string, phase: string, block: string, eol: string): string | undefined {
  const lines = source.split(eol);
  const start = lines.findIndex((line) => line.trimEnd() === `${HEAD} phase ${phase}`);
  if (start < 0) return undefined;
  const length = lines.slice(start).findIndex((line) => !line.startsWith(">"));
  return lines.toSpliced(start, length < 0 ? lines.length - start : length, ...block.split(eol)).join(eol);
}

/** After the phase's own text. */
function inserted(plan: Plan, source: string, text: string, block: string, eol: string): string | undefined {
  if (plan.format === "master" || (plan.format === "phase-file" && plan.phases.length === 1))
    return `${source.trimEnd()}${eol}${eol}${block}${eol}`;
  // Marks may have changed since it was read: its last line is looked for behind its first.
  const lines = text.trimEnd().split(/\r?\n/);
  const first = source.indexOf(lines[0] ?? "");
  const last = lines.at(-1) ?? "";
  const at = first < 0 ? -1 : source.indexOf(last.replace("[ ]", "[x]"), first);
  const end = at >= 0 ? at : first < 0 ? -1 : source.indexOf(last, first);
  if (end < 0 || last === "") return undefined;
  const close = source.indexOf(eol, end);
  const cut = close < 0 ? source.length : close;
  return `${source.slice(0, cut)}${eol}${eol}${block}${eol}${source.slice(cut)}`;
}

/** Marks still find their places, and the document has the same sections. */
function readsTheSame(plan: Plan, file: string, before: string, after: string): boolean {
  try {
    const titles = (source: string) => readDocument(file, source).sections.map(({ title }) => title);
    if (JSON.stringify(titles(before)) !== JSON.stringify(titles(after))) return false;
    const quoted = (source: string): string =>
      source
        .split(/\r?\n/)
        .filter((line) => !line.startsWith(">"))
        .join("");
    return plan.phases.every(({ id, tasks }) => {
      const marks = { phase: id, status: "done" as const, tasksDone: tasks.map((task) => task.id) };
      return quoted(markPlanFile(plan, file, before, marks)) === quoted(markPlanFile(plan, file, after, marks));
    });
  } catch (error) {
    if (error instanceof UnreadableMarkdown) return false;
    throw error;
  }
}
