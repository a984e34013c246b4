/** `requirements.md`: numbered acceptance criteria, by requirement and number (`1.2`). */
import { readDocument } from "../document.js";
import { itemParagraph, textOf } from "../markdown.js";

const REQUIREMENT = /^requirement\s+(\d+(?:\.\d+)?)\b|^(\d+)[.:]\s/i;

export function requirementsIn(source: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (source === undefined) return found;
  const { root } = readDocument("requirements.md", source);
  let requirement: string | undefined;
  let count = 0;
  for (const node of root.children) {
    if (node.type === "heading") {
      const [, named, numbered] = REQUIREMENT.exec(textOf(node).trim()) ?? [];
      const next = named ?? numbered;
      if (next !== undefined) [requirement, count] = [next, 0];
      continue;
    }
    if (node.type !== "list" || node.ordered !== true || requirement === undefined) continue;
    for (const item of node.children) {
      const paragraph = itemParagraph(item);
      if (paragraph !== undefined)
        found.set(`${requirement}.${++count}`, textOf(paragraph).replaceAll(/\s+/g, " ").trim());
    }
  }
  return found;
}
