/** The Markdown AST and the few questions the formats ask of it. Everything is found in the tree, never in raw text. */
import type { List, ListItem, Node, Nodes, Paragraph, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

/** The Markdown library gave up on a document: seen with damaged ones only. */
export class UnreadableMarkdown extends Error {}

export function parseMarkdown(source: string): Root {
  try {
    return fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  } catch (error) {
    throw new UnreadableMarkdown(error instanceof Error ? error.message : String(error));
  }
}

export function textOf(node: Nodes): string {
  if ("value" in node) return node.value;
  if ("children" in node) return (node.children as Nodes[]).map(textOf).join("");
  return "";
}

export const lineOf = (node: Node): number => node.position?.start.line ?? 1;
export const startOf = (node: Node): number => node.position?.start.offset ?? 0;
export const endOf = (node: Node): number => node.position?.end.offset ?? 0;

/** List items of these nodes at any depth, in document order. */
export function* itemsOf(nodes: readonly Nodes[]): Generator<ListItem> {
  for (const node of nodes) {
    if (node.type === "listItem") yield node;
    if (node.type === "list" || node.type === "listItem") yield* itemsOf((node as List | ListItem).children as Nodes[]);
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

/** Words in backticks. */
export const codesOf = (nodes: readonly Nodes[]): string[] =>
  [...descendantsOf(nodes)].flatMap((node) => (node.type === "inlineCode" ? [node.value.trim()] : []));
