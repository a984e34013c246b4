/** The master-plan form: a table of phases that links to one file per phase. */
import type { Table, TableCell, TableRow } from "mdast";
import { readDependencies } from "../depends.js";
import { type Document, goalOf, readDocument, titleOf } from "../document.js";
import type { Draft, FormRead } from "../draft.js";
import type { Field } from "../fields.js";
import type { Form } from "../form.js";
import type { Sites, StatusSite } from "../mark-sites.js";
import { descendantsOf, endOf, lineOf, startOf, textOf } from "../markdown.js";
import { type Diagnostic, isDone, type Phase, type Plan, type PlanOptions, type ReadPlanFile } from "../model.js";
import { markOf } from "../statuses.js";
import { readPhaseFile, subPhases } from "./phase-file.js";

interface MasterRow {
  id: string;
  title: string;
  url: string;
  line: number;
  status: Extract<StatusSite, { type: "value" }> | undefined;
  dependsOn: Pick<Field, "value" | "links"> | undefined;
}

export const MASTER: Form = {
  name: "master",
  looksFor: "a table of phases with links to their files",
  fits: (document) => readRows(document).length > 0,
  read: readMaster,
  sites: sitesIn,
};

const readRows = ({ root, source }: Document): MasterRow[] =>
  root.children.flatMap((node) => (node.type === "table" ? rowsOf(node, source) : []));

function rowsOf(table: Table, source: string): MasterRow[] {
  const [header, ...body] = table.children;
  if (header === undefined) return [];
  const names = header.children.map((cell) => textOf(cell).trim().toLowerCase());
  const phaseColumn = names.findIndex((name) => name === "phase" || name === "#" || name === "id");
  const statusColumn = names.indexOf("status");
  const dependsColumn = names.findIndex((name) => /^(depends on|dependencies)$/.test(name));
  if (phaseColumn < 0) return [];
  return body.flatMap((row) => {
    const link = [...descendantsOf(row.children)].find((node) => node.type === "link" && isMarkdownFile(node.url));
    const id = /^(?:phase\s+)?([A-Za-z0-9][\w.-]*)/i.exec(cellText(row, phaseColumn))?.[1];
    if (link?.type !== "link" || id === undefined) return [];
    const cell = row.children[statusColumn];
    const depends = row.children[dependsColumn];
    return [
      {
        id,
        title: textOf(link).trim(),
        url: link.url,
        line: lineOf(row),
        status: cell === undefined ? undefined : cellSpan(cell, source),
        dependsOn: depends === undefined ? undefined : { value: textOf(depends).trim(), links: linksIn(depends) },
      },
    ];
  });
}

const isMarkdownFile = (url: string): boolean => /\.(md|markdown)(#.*)?$/i.test(url) && !/^[a-z]+:/i.test(url);
const cellText = (row: TableRow, column: number): string => {
  const cell = row.children[column];
  return cell === undefined ? "" : textOf(cell).trim();
};
/** In a status column of dependencies only links to phase files count as such. */
const linksIn = (cell: TableCell): Field["links"] =>
  [...descendantsOf(cell.children)].flatMap((node) =>
    node.type === "link" && isMarkdownFile(node.url) ? [{ text: textOf(node), url: node.url }] : [],
  );

function cellSpan(cell: TableCell, source: string): MasterRow["status"] {
  const first = cell.children[0];
  const last = cell.children.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const [start, end] = [startOf(first), endOf(last)];
  return { type: "value", value: source.slice(start, end), start, end };
}

/** A link in one plan file, as a path from the repository's top level; undefined where it leads outside. */
function resolveLink(from: string, url: string): string | undefined {
  const parts = from.split("/").slice(0, -1);
  for (const part of decoded(url.replace(/#.*$/, "")).split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}

function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}

function readMaster(document: Document, read: ReadPlanFile, options: PlanOptions): FormRead {
  const { file } = document;
  const rows = readRows(document);
  const diagnostics: Diagnostic[] = [];
  const known = rows.map((row) => row.id);
  const idOfFile = new Map(rows.map((row) => [resolveLink(file, row.url), row.id]));
  const lastOf = new Map<string, string>();
  const drafts = rows.flatMap((row): Draft[] => {
    const path = resolveLink(file, row.url);
    const source = path === undefined ? undefined : read(path);
    if (path === undefined || typeof source !== "string") {
      diagnostics.push({ severity: "error", file, line: row.line, ...missingFile(row, source) });
      return [];
    }
    const phaseDocument = readDocument(path, source);
    const phaseFile = readPhaseFile(phaseDocument, options);
    diagnostics.push(...phaseFile.diagnostics);
    const idOfLink = (url: string) => idOfFile.get(resolveLink(path, url));
    const own = phaseFile.dependsOn;
    const dependsOn =
      own === undefined
        ? readDependencies(row.dependsOn, {
            known,
            self: row.id,
            idOfLink: (url) => idOfFile.get(resolveLink(file, url)),
          })
        : readDependencies(own, { known, self: row.id, idOfLink });
    const phase: Phase = {
      ...phaseFile.phase,
      id: row.id,
      title: phaseFile.phase.title || row.title,
      dependsOn,
      mark: phaseFile.phase.mark ?? (row.status === undefined ? undefined : markOf(row.status.value)),
    };
    const subs = options.subPhases === "separate" ? subPhases(phaseDocument, phase) : [];
    if (subs.length < 2) return [{ phase, sites: phaseFile.sites }];
    return apart(phase, subs, lastOf);
  });
  // Whoever waits for a phase waits for the last of its sub-phases.
  for (const { phase } of drafts) phase.dependsOn = phase.dependsOn.map((id) => lastOf.get(id) ?? id);
  return { title: titleOf(document), goal: goalOf(document), drafts, diagnostics };
}

/** A phase whose sub-phases run as phases of their own, the first after whatever the phase waits for. */
function apart(phase: Phase, subs: Draft[], lastOf: Map<string, string>): Draft[] {
  const [first] = subs;
  if (first !== undefined) first.phase.dependsOn = phase.dependsOn;
  lastOf.set(phase.id, subs.at(-1)?.phase.id ?? phase.id);
  const mark = isDone(phase.mark) ? "done" : undefined;
  return subs.map((draft) => ({ ...draft, phase: { ...draft.phase, mark: draft.phase.mark ?? mark } }));
}

function missingFile(
  row: MasterRow,
  source: string | { problem: string } | undefined,
): { message: string; fix: string } {
  if (typeof source === "object")
    return {
      message: `Phase ${row.id} links to ${row.url}: ${source.problem}`,
      fix: "Replace the file, or correct the link.",
    };
  return {
    message: `Phase ${row.id} links to ${row.url}, and there is no such file in the repository.`,
    fix: "Create the file, or correct the link in the table.",
  };
}

/** Every place in this file that says something about the phase: its own file, and its row in the table. */
function sitesIn(document: Document, plan: Plan, id: string): Sites[] {
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
