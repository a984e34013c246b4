/** `**Name:** value` fields of a document, with the exact place of the value so that it can be rewritten alone. */
import type { Nodes, Paragraph, PhrasingContent } from "mdast";
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
    const label = textOf(node).trim();
    const after = paragraph.children.slice(index + 1);
    const colonInside = label.endsWith(":");
    const next = after[0];
    const colonAfter = next?.type === "text" && next.value.trimStart().startsWith(":");
    if (!colonInside && !colonAfter) continue;
    fields.push(readField(label.replace(/:$/, "").trim(), lineOf(node), endOf(node), colonInside, after, source));
  }
  return fields;
}

function readField(
  name: string,
  line: number,
  from: number,
  colonInside: boolean,
  after: PhrasingContent[],
  source: string,
): Field {
  // A field ends with its line: the next strong label of the same paragraph stands on a line of its own.
  const newline = source.indexOf("\n", from);
  const lineEnd = newline < 0 ? source.length : newline;
  const raw = source.slice(from, lineEnd);
  const lead = /^\s*/.exec(raw)?.[0].length ?? 0;
  const skip = colonInside
    ? lead
    : raw.indexOf(":") + 1 + (/^\s*/.exec(raw.slice(raw.indexOf(":") + 1))?.[0].length ?? 0);
  const value = raw.slice(skip).trimEnd();
  const start = from + skip;
  const nodes = after.filter((node) => startOf(node) < lineEnd);
  const links = [...descendantsOf(nodes)].flatMap((node) =>
    node.type === "link" && startOf(node) < lineEnd ? [{ text: textOf(node), url: node.url }] : [],
  );
  return { name, value, line, start, end: start + value.length, links };
}

export const findField = (fields: readonly Field[], name: string): Field | undefined =>
  fields.find((field) => field.name.toLowerCase() === name.toLowerCase());
