/** `**Name:** value` fields of a document, with the exact place of the value so that it can be rewritten alone. */
import type { Nodes, Paragraph } from "mdast";
import { descendantsOf, endOf, lineOf, startOf, textOf } from "./markdown.js";

export interface Field {
  name: string;
  value: string;
  line: number;
  /** Where the value stands in the source. */
  start: number;
  end: number;
  links: { text: string; url: string }[];
}

export function fieldsOf(nodes: readonly Nodes[], source: string): Field[] {
  const fields: Field[] = [];
  for (const node of descendantsOf(nodes)) {
    if (node.type === "paragraph") fields.push(...fieldsOfParagraph(node, source));
  }
  return fields;
}

function fieldsOfParagraph(paragraph: Paragraph, source: string): Field[] {
  const fields: Field[] = [];
  for (const [index, node] of paragraph.children.entries()) {
    if (node.type !== "strong") continue;
    // A label stands at the beginning of its line.
    const lineStart = source.lastIndexOf("\n", startOf(node) - 1) + 1;
    if (!/^[\s>*+-]*(\d+[.)]\s*)?(\[[ xX]\]\s*)?$/.test(source.slice(lineStart, startOf(node)))) continue;
    const label = textOf(node).trim();
    const lineEnd = endOfLine(source, endOf(node));
    const raw = source.slice(endOf(node), lineEnd);
    const colon = label.endsWith(":") ? 0 : raw.trimStart().startsWith(":") ? raw.indexOf(":") + 1 : -1;
    if (colon < 0) continue;
    const lead = colon + (/^[ \t]*/.exec(raw.slice(colon))?.[0].length ?? 0);
    const value = raw.slice(lead).trimEnd();
    const start = endOf(node) + lead;
    const after = paragraph.children.slice(index + 1).filter((other) => startOf(other) < lineEnd);
    const links = [...descendantsOf(after)].flatMap((other) =>
      other.type === "link" && startOf(other) < lineEnd ? [{ text: textOf(other), url: other.url }] : [],
    );
    fields.push({
      name: label.replace(/:$/, "").trim(),
      value,
      line: lineOf(node),
      start,
      end: start + value.length,
      links,
    });
  }
  return fields;
}

function endOfLine(source: string, from: number): number {
  const newline = source.indexOf("\n", from);
  return newline < 0 ? source.length : newline;
}

export const findField = (fields: readonly Field[], name: RegExp): Field | undefined =>
  fields.find((field) => name.test(field.name));

export const STATUS = /^status$/i;
export const DEPENDS = /^(depends on|dependencies|depends|requires|blocked by)$/i;
