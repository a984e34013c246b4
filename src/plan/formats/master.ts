/** The master-plan form: a table of phases that links to one file per phase. */
import type { Root, Table, TableCell, TableRow } from "mdast";
import { descendantsOf, endOf, lineOf, parseMarkdown, preambleOf, sectionsOf, startOf, textOf } from "../markdown.js";
import type { Diagnostic, Phase, ReadPlanFile } from "../model.js";
import { meansDone } from "../statuses.js";
import { readPhaseFile } from "./phase-file.js";

export interface MasterRow {
  id: string;
  title: string;
  url: string;
  line: number;
  /** The status cell's text and where it stands, so that it alone can be rewritten. */
  status: { value: string; start: number; end: number } | undefined;
}

export interface MasterPlan {
  title: string;
  goal: string;
  rows: MasterRow[];
}

/** Undefined where the document has no table of phases with links. */
export function readMaster(source: string): MasterPlan | undefined {
  const root = parseMarkdown(source);
  const rows = root.children.flatMap((node) => (node.type === "table" ? rowsOf(node, source) : []));
  if (rows.length === 0) return undefined;
  const heading = root.children.find((node) => node.type === "heading");
  return { title: heading === undefined ? "" : textOf(heading).trim(), goal: goalOf(root), rows };
}

function rowsOf(table: Table, source: string): MasterRow[] {
  const [header, ...body] = table.children;
  if (header === undefined) return [];
  const names = header.children.map((cell) => textOf(cell).trim().toLowerCase());
  const phaseColumn = names.findIndex((name) => name === "phase" || name === "#" || name === "id");
  const statusColumn = names.indexOf("status");
  if (phaseColumn < 0) return [];
  return body.flatMap((row) => {
    const link = [...descendantsOf(row.children)].find((node) => node.type === "link" && isMarkdownFile(node.url));
    const id = /([A-Za-z0-9][\w.]*)\s*$/.exec(cellText(row, phaseColumn).replace(/^phase\s+/i, ""))?.[1];
    if (link?.type !== "link" || id === undefined) return [];
    const cell = statusColumn < 0 ? undefined : row.children[statusColumn];
    return [
      { id, title: textOf(link).trim(), url: link.url, line: lineOf(row), status: cell && cellSpan(cell, source) },
    ];
  });
}

const isMarkdownFile = (url: string): boolean => /\.(md|markdown)(#.*)?$/i.test(url) && !/^[a-z]+:/i.test(url);
const cellText = (row: TableRow, column: number): string => {
  const cell = row.children[column];
  return cell === undefined ? "" : textOf(cell).trim();
};

function cellSpan(cell: TableCell, source: string): { value: string; start: number; end: number } | undefined {
  const first = cell.children[0];
  const last = cell.children.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const [start, end] = [startOf(first), endOf(last)];
  return { value: source.slice(start, end), start, end };
}

/** The first paragraph under Overview, Goal or Goals, else the first below the title. */
function goalOf(root: Root): string {
  const section = sectionsOf(root).find((candidate) => /^(overview|goals?)\b/i.test(candidate.title));
  const nodes = section?.content ?? preambleOf(root);
  const paragraph = nodes.find((node) => node.type === "paragraph" && node.children[0]?.type !== "strong");
  return paragraph === undefined ? "" : textOf(paragraph).trim();
}

function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}

/** A link in one plan file, as a path from the repository's top level; undefined where it leads outside. */
export function resolveLink(from: string, url: string): string | undefined {
  const parts = from.split("/").slice(0, -1);
  for (const part of decoded(url.replace(/#.*$/, "")).split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}

export function readPhases(
  file: string,
  master: MasterPlan,
  read: ReadPlanFile,
): { phases: Phase[]; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const phases: Phase[] = [];
  const idOfFile = new Map(master.rows.map((row) => [resolveLink(file, row.url), row.id]));
  for (const row of master.rows) {
    const path = resolveLink(file, row.url);
    const source = path === undefined ? undefined : read(path);
    if (path === undefined || source === undefined) {
      diagnostics.push({
        severity: "error",
        file,
        line: row.line,
        message: `Phase ${row.id} links to ${row.url}, and there is no such file in the repository.`,
        fix: "Create the file, or correct the link in the table.",
      });
      continue;
    }
    const phaseFile = readPhaseFile(source, path);
    diagnostics.push(...phaseFile.diagnostics);
    const dependsOn = dependencyIds(phaseFile.dependsOn, path, idOfFile);
    phases.push({
      id: row.id,
      title: phaseFile.title || row.title,
      dependsOn,
      tasks: phaseFile.tasks.map(({ item: _, ...task }) => task),
      gates: phaseFile.gates,
      text: source,
      markedDone: phaseFile.markedDone || (row.status !== undefined && meansDone(row.status.value)),
      file: path,
      line: 1,
    });
  }
  return { phases, diagnostics };
}

function dependencyIds(
  field: { value: string; links: { text: string; url: string }[] } | undefined,
  file: string,
  idOfFile: ReadonlyMap<string | undefined, string>,
): string[] {
  if (field === undefined || /^none\b/i.test(field.value) || field.value === "" || field.value === "-") return [];
  const linked = field.links.flatMap((link) => {
    const id = idOfFile.get(resolveLink(file, link.url));
    return [id ?? link.text.replace(/^phase\s+/i, "").trim()];
  });
  if (linked.length > 0) return [...new Set(linked)];
  const plain = field.value.replaceAll(/\bphases?\b/gi, " ").split(/[\s,;&]+|\band\b/);
  return [...new Set(plain.filter((word) => /^[A-Za-z0-9][\w.]*$/.test(word)))];
}
