/**
 * Nothing is lost in silence: every line that looks like a box to a person is a task, or something else that was read, or it
 * is said what it is taken for, with its line.
 */
import type { Nodes } from "mdast";
import { type Document, readDocument } from "./document.js";
import type { Draft } from "./draft.js";
import { lineAt } from "./line-at.js";
import { descendantsOf, lineOf } from "./markdown.js";
import type { Diagnostic } from "./model.js";

export interface BoxesSeen {
  /** Lines that look like a box. */
  seen: number;
  diagnostics: Diagnostic[];
}

const MARKS = " xX~\\-/>✓✔☑✗*!?oO";
/**
 * Behind a list's mark whatever is short stands for a mark; at the beginning of a line only what is known as one (`[a]` may be
 * anything there). In quotes, too. Not a link.
 */
const BOX = new RegExp(
  `^\\s*(?:>\\s*)*(?:(?:[-*+•]|\\d+[.)])\\s*\\[([^\\]\\n]{0,3})\\](?![(\\[:])|\\[([${MARKS}]?)\\](?![(\\[:])|(?:(?:[-*+•]|\\d+[.)])\\s*)?([☐☑☒]))`,
  "u",
);
/** `[1]`, `[US1]`: a reference, or a tag. */
const REFERENCE = /^\s*(?:>\s*)*(?:[-*+•]|\d+[.)])\s*\[(?:\d+|[A-Z]{1,2}\d+|[A-Z]{2,3})\]/u;
const CELL = new RegExp(`\\|\\s*\\[[${MARKS}]\\]\\s*(?=\\|)`, "u");

/** Headings under which boxes are no tasks: what must hold, and is read as that, and what a process asks for. */
const NOT_TASKS =
  /\b(gates?|acceptance|criteria|process wrapper|verification|validation|definition of done|quality|review|success|checklist|testing|rollback)\b/i;
/** Of these it is said: somebody may have meant tasks. */
const SAID = /\b(review|checklist|testing|rollback)\b/i;

interface Seen {
  line: number;
  text: string;
}

const looksLikeBox = (text: string): boolean => (BOX.test(text) && !REFERENCE.test(text)) || CELL.test(text);

const linesWithBoxes = (source: string): Seen[] =>
  source.split(/\r\n|\n|\r/).flatMap((text, n) => (looksLikeBox(text) ? [{ line: n + 1, text }] : []));

/** `drafts`: what was read of this file. */
export function boxesSeen(file: string, source: string, drafts: readonly Draft[]): BoxesSeen {
  if (/\.(json|ya?ml)$/.test(file)) return { seen: 0, diagnostics: [] };
  const seen = linesWithBoxes(source);
  const read = readLines(source, file, drafts);
  const unread = seen.filter(({ line }) => !read.has(line));
  if (unread.length === 0) return { seen: seen.length, diagnostics: [] };
  return { seen: seen.length, diagnostics: judge(readDocument(file, source), unread) };
}

/** Lines of tasks, of gates, and of every box that is written to. */
function readLines(source: string, file: string, drafts: readonly Draft[]): Set<number> {
  const lineOfPlace = lineAt(source);
  const lines = new Set<number>();
  for (const { phase, sites } of drafts) {
    for (const place of [...phase.tasks, ...(phase.leftOut ?? []), ...phase.gates])
      if (place.file === file) lines.add(place.line);
    if (phase.file !== file) continue;
    for (const at of [...sites.boxes.values(), ...(sites.groups ?? []).map((group) => group.at)])
      lines.add(lineOfPlace(at));
    if (sites.status?.type === "box") lines.add(lineOfPlace(sites.status.at));
  }
  return lines;
}

interface Range {
  from: number;
  to: number;
}

const rangeOf = (node: Nodes): Range => ({
  from: lineOf(node),
  to: node.position?.end.line ?? lineOf(node),
});

function judge(document: Document, unread: readonly Seen[]): Diagnostic[] {
  const { file, root, sections } = document;
  const nodes = [...descendantsOf(root.children as Nodes[])];
  const rangesOf = (type: string): Range[] => nodes.filter((node) => node.type === type).map(rangeOf);
  const [codes, quotes, tables] = ["code", "blockquote", "table"].map(rangesOf) as [Range[], Range[], Range[]];
  // What is not shown is no box to a person; what stands in other HTML is.
  const comments = nodes
    .filter((node) => node.type === "html" && node.value.trimStart().startsWith("<!--"))
    .map(rangeOf);
  const within = <R extends Range>(line: number, ranges: readonly R[]): R | undefined =>
    ranges.find(({ from, to }) => line >= from && line <= to);
  const asked = sections
    .filter(({ title }) => NOT_TASKS.test(title))
    .map((section) => ({ ...sectionRange(document, section), title: section.title }));
  const warn = (line: number, message: string, fix: string): Diagnostic => ({
    severity: "warning",
    file,
    line,
    message,
    fix,
  });
  const inCode = new Map<Range, number[]>();
  const inAsked: number[] = [];
  const found: Diagnostic[] = [];
  for (const { line, text } of unread) {
    const code = within(line, codes);
    if (code !== undefined) inCode.set(code, [...(inCode.get(code) ?? []), line]);
    else if (within(line, comments) !== undefined) continue;
    else if (within(line, asked) !== undefined) inAsked.push(line);
    else if (within(line, quotes) !== undefined)
      found.push(warn(line, "A box stands in a quote, and is not read as a task.", "Take it out of the quote."));
    else if (within(line, tables) !== undefined)
      found.push(warn(line, "A box stands in a table, and is not read as a task.", "Write it as a list: - [ ] …"));
    else
      found.push(
        warn(line, `This looks like a box and is not read as a task: ${text.trim().slice(0, 60)}`, whyOf(text)),
      );
  }
  for (const { title, from, to } of asked) {
    const lines = inAsked.filter((line) => line >= from && line <= to && within(line, asked)?.from === from);
    if (lines.length === 0 || !SAID.test(title)) continue;
    const boxes = lines.length === 1 ? "A box stands" : `${lines.length} boxes stand`;
    found.push({
      severity: "warning",
      file,
      line: lines[0] ?? from,
      message: `${boxes} under "${title}": taken for what must hold, and not read as tasks.`,
      fix: "If they are tasks, give the section another heading.",
    });
  }
  for (const [{ from, to }, lines] of inCode) {
    const boxes = lines.length === 1 ? "A box stands" : `${lines.length} boxes stand`;
    found.push(
      warn(
        lines[0] ?? from,
        `${boxes} in a code block that begins in line ${from} and ends in line ${to}: not read as tasks.`,
        "If they are tasks, the block was not closed: give a block that holds others more backticks (````) than they have.",
      ),
    );
  }
  return found;
}

function sectionRange({ root }: Document, { line, end }: Document["sections"][number]): Range {
  const last = root.children[end - 1];
  return { from: line, to: last?.position?.end.line ?? line };
}

function whyOf(text: string): string {
  const [, behind, alone] = BOX.exec(text) ?? [];
  const mark = behind ?? alone;
  if (mark !== undefined && !/^[ xX]$/.test(mark)) return `Segno knows [ ] and [x]; this one has "${mark}".`;
  if (/\]\S/.test(text)) return "Put a space behind the box: - [ ] …";
  return "Write it as a list item under a heading of the plan's tasks: - [ ] …";
}
