/** The Markdown AST and the few questions the formats ask of it. Everything is found in the tree, never in raw text. */
import type { List, ListItem, Node, Nodes, Paragraph, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { type Piece, piecesOf } from "./pieces.js";

/** The Markdown library gave up on a document: seen with damaged ones only. */
export class UnreadableMarkdown extends Error {}

/** From here on a document is read in pieces, each as small as it may be. */
const LARGE = 60_000;
const PIECE = 12_000;

export function parseMarkdown(source: string, piece = source.length < LARGE ? undefined : PIECE): Root {
  try {
    const pieces = piece === undefined ? undefined : piecesOf(source, piece);
    return pieces === undefined || pieces.length === 1 ? parseWhole(source) : parsePieces(source, pieces);
  } catch (error) {
    throw new UnreadableMarkdown(error instanceof Error ? error.message : String(error));
  }
}

const parseWhole = (source: string): Root =>
  fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });

function parsePieces(source: string, pieces: readonly Piece[]): Root {
  const roots = pieces.map(({ start, line }, index) => {
    const root = parseWhole(source.slice(start, pieces[index + 1]?.start));
    move(root, line, start);
    return root;
  });
  const [first, last] = [roots[0]?.position, roots.at(-1)?.position];
  return {
    type: "root",
    children: roots.flatMap((root) => root.children),
    ...(first === undefined || last === undefined ? {} : { position: { start: first.start, end: last.end } }),
  };
}

/** Positions as they are in the whole document. */
function move(node: Nodes, line: number, offset: number): void {
  for (const point of node.position === undefined ? [] : [node.position.start, node.position.end]) {
    point.line += line;
    point.offset = (point.offset ?? 0) + offset;
  }
  if ("children" in node) for (const child of node.children) move(child as Nodes, line, offset);
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
