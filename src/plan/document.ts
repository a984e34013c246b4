/** A plan file as a tree with its sections. Made in one pass: a plan may have thousands of phases. */
import type { Heading, Root, RootContent } from "mdast";
import { endOf, lineOf, parseMarkdown, startOf, textOf } from "./markdown.js";

export interface Section {
  heading: Heading;
  title: string;
  line: number;
  /** Its place among the sections. */
  index: number;
  /** What stands under it: indices of the document's nodes, up to the next heading of any depth, and of its own. */
  from: number;
  ownEnd: number;
  end: number;
}

export interface Document {
  file: string;
  source: string;
  root: Root;
  sections: Section[];
}

export function readDocument(file: string, source: string): Document {
  // Some plans are data: nothing in them is Markdown.
  const root: Root = /\.(json|ya?ml)$/.test(file)
    ? { type: "root", children: [] }
    : parseMarkdown(withoutFront(source));
  const sections: Section[] = [];
  const open: Section[] = [];
  for (const [index, node] of root.children.entries()) {
    if (node.type !== "heading") continue;
    const last = sections.at(-1);
    if (last !== undefined && last.ownEnd < 0) last.ownEnd = index;
    while (open.length > 0 && (open.at(-1) as Section).heading.depth >= node.depth) (open.pop() as Section).end = index;
    const section = {
      heading: node,
      title: textOf(node).trim(),
      line: lineOf(node),
      index: sections.length,
      from: index + 1,
      ownEnd: -1,
      end: -1,
    };
    sections.push(section);
    open.push(section);
  }
  const length = root.children.length;
  for (const section of sections) {
    if (section.ownEnd < 0) section.ownEnd = length;
    if (section.end < 0) section.end = length;
  }
  return { file, source, root, sections };
}

const FRONT = /^---[ \t]*\r?\n[\s\S]*?\r?\n---[ \t]*(?=\r?\n|$)/;

/** Front matter is no Markdown: it would be read as a line and a heading. What follows stays where it is. */
const withoutFront = (source: string): string =>
  source.replace(FRONT, (front) => (/^\s*[\w-]+\s*:/m.test(front) ? front.replaceAll(/[^\r\n]/g, " ") : front));

/** All that stands under a heading, deeper headings included. */
export const contentOf = ({ root }: Document, section: Section): RootContent[] =>
  root.children.slice(section.from, section.end);

/** What stands under a heading before any other heading. */
export const ownContentOf = ({ root }: Document, section: Section): RootContent[] =>
  root.children.slice(section.from, section.ownEnd);

/** What stands before the first heading below the title: where a document keeps its fields. */
export function preambleOf({ root, sections }: Document): RootContent[] {
  const [first] = sections;
  if (first === undefined) return root.children;
  const isTitle = root.children[0] === first.heading;
  return isTitle ? root.children.slice(1, first.ownEnd) : root.children.slice(0, first.from - 1);
}

/** The Markdown of a section as the user wrote it. */
export function sourceOf({ root, source }: Document, section: Section): string {
  const last = root.children[section.end - 1];
  return source.slice(startOf(section.heading), last === undefined ? source.length : endOf(last));
}

export function titleOf({ sections, file }: Document): string {
  return sections[0]?.title || file;
}

/** The first paragraph under Overview, Goal, Context or the like, else the first below the title. */
export function goalOf(document: Document): string {
  const section = document.sections.find(({ title }) => /^(overview|goals?|summary|context\b.*goals?)\b/i.test(title));
  const nodes = section === undefined ? preambleOf(document) : ownContentOf(document, section);
  const paragraph = nodes.find((node) => node.type === "paragraph" && node.children[0]?.type !== "strong");
  return paragraph === undefined ? "" : textOf(paragraph).trim();
}

/** The sections inside a section. */
export function innerSections({ sections }: Document, section: Section): Section[] {
  const inner: Section[] = [];
  for (let at = section.index + 1; at < sections.length; at++) {
    const candidate = sections[at] as Section;
    if (candidate.from > section.end) break;
    inner.push(candidate);
  }
  return inner;
}
