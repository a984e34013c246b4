/** Boxes as people write them, nested as they stand: also those that Markdown does not know as such. */
import type { ListItem, Nodes } from "mdast";
import { endOf, itemParagraph, lineOf, startOf } from "./markdown.js";

export interface Box {
  item: ListItem;
  /** What stands between the brackets: a space, `x`, `-`, `~`. */
  mark: string;
  /** `[ ]*`: nobody must do it. */
  optional: boolean;
  /** What follows the box, on its line. */
  text: string;
  /** Where the mark stands. */
  at: number;
  line: number;
  /** Boxes below it. */
  inner: Box[];
}

/** Other marks are nobody's: they are said, not guessed. */
const BOX = /^\[([ xX~✓✔☑-])\](\*?)\s*(.*)$/u;

export const isTicked = ({ mark }: Pick<Box, "mark">): boolean => /^[xX✓✔☑]$/u.test(mark);

/** The boxes of these lists, outermost first. */
export function boxesIn(nodes: readonly Nodes[], source: string): Box[] {
  return nodes.flatMap((node) => (node.type === "list" ? node.children.flatMap((item) => boxesOf(item, source)) : []));
}

function boxesOf(item: ListItem, source: string): Box[] {
  const inner = boxesIn(item.children, source);
  const paragraph = itemParagraph(item);
  const at = source.indexOf("[", startOf(item));
  if (paragraph === undefined || at < 0) return inner;
  // Markdown takes a box it knows out of the text; one it does not know is the beginning of it.
  const from = typeof item.checked === "boolean" ? at : startOf(paragraph);
  const line = source.slice(from, Math.max(from, endOf(paragraph))).split(/\r?\n/, 1)[0] ?? "";
  const [, mark, star, text] = BOX.exec(line) ?? [];
  if (mark === undefined) return inner;
  return [{ item, mark, optional: star === "*", text: (text ?? "").trim(), at: at + 1, line: lineOf(item), inner }];
}
