/** The Markdown AST and the few questions the formats ask of it. Everything is found in the tree, never in raw text. */
import type { Heading, List, ListItem, Node, Nodes, Paragraph, Root, RootContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

export function parseMarkdown(source: string): Root {
  return fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
}

export function textOf(node: Nodes): string {
  if ("value" in node) return node.value;
  if ("children" in node) return (node.children as Nodes[]).map(textOf).join("");
  return "";
}

export const lineOf = (node: Node): number => node.position?.start.line ?? 1;
export const startOf = (node: Node): number => node.position?.start.offset ?? 0;
export const endOf = (node: Node): number => node.position?.end.offset ?? 0;

export interface Section {
  heading: Heading | undefined;
  title: string;
  /** All content until the next heading of the same or a higher level, deeper headings included. */
  content: RootContent[];
}

/** Every heading with all that stands under it. */
export function sectionsOf(root: Root): Section[] {
  const sections: Section[] = [];
  for (const [index, node] of root.children.entries()) {
    if (node.type !== "heading") continue;
    const rest = root.children.slice(index + 1);
    const end = rest.findIndex((other) => other.type === "heading" && other.depth <= node.depth);
    sections.push({ heading: node, title: textOf(node).trim(), content: end < 0 ? rest : rest.slice(0, end) });
  }
  return sections;
}

/** What stands before the first heading below the title: where a document keeps its fields. */
export function preambleOf(root: Root): RootContent[] {
  const from = root.children[0]?.type === "heading" ? 1 : 0;
  const rest = root.children.slice(from);
  const end = rest.findIndex((node) => node.type === "heading");
  return end < 0 ? rest : rest.slice(0, end);
}

/** List items of these nodes at any depth, in document order. */
export function* itemsOf(nodes: readonly Nodes[]): Generator<ListItem> {
  for (const node of nodes) {
    if (node.type === "listItem") yield node;
    if (node.type === "list" || node.type === "listItem" || node.type === "blockquote") {
      yield* itemsOf((node as List | ListItem).children as Nodes[]);
    }
  }
}

/** The item's own first paragraph, without nested lists and blocks. */
export const itemParagraph = (item: ListItem): Paragraph | undefined =>
  item.children.find((child) => child.type === "paragraph");

export function* descendantsOf(nodes: readonly Nodes[]): Generator<Nodes> {
  for (const node of nodes) {
    yield node;
    if ("children" in node) yield* descendantsOf(node.children as Nodes[]);
  }
}
