/** Tasks: checkbox items in a part of a document, with the exact place of each box. */
import type { ListItem, RootContent } from "mdast";
import type { Document } from "./document.js";
import { endOf, itemParagraph, itemsOf, lineOf, startOf, textOf } from "./markdown.js";
import type { Task } from "./model.js";

export interface Checkbox {
  task: Task;
  /** Where the character between the brackets stands. */
  at: number;
}

const EXPLICIT = /^\**([A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)+|\d+)\**\s*[:.)]\**\s+(.+)$/;
const GROUP = /^(?:Sub-Phase\s+)?([A-Za-z]?\d+[A-Za-z]?(?:\.\d+[A-Za-z]?)*)\.?(?::|\s|$)/i;

interface Box {
  item: ListItem;
  text: string;
  group: string;
}

/** `prefix`: what ids begin with where neither the box nor a heading above it gives one. */
export function readCheckboxes({ file, source }: Document, nodes: readonly RootContent[], prefix: string): Checkbox[] {
  const boxes: Box[] = [];
  const inGroup = new Map<string, number>();
  let group = "";
  for (const node of nodes) {
    if (node.type === "heading") group = GROUP.exec(textOf(node).trim())?.[1] ?? group;
    for (const item of itemsOf([node])) {
      if (typeof item.checked !== "boolean") continue;
      boxes.push({ item, text: titleOf(item, source), group });
      inGroup.set(group, (inGroup.get(group) ?? 0) + 1);
    }
  }
  const taken = new Set<string>();
  return boxes.map(({ item, text, group: under }) => {
    const explicit = EXPLICIT.exec(text);
    // A heading like `6A.1` with a single box under it names that box.
    const named = under.includes(".") && inGroup.get(under) === 1 ? under : undefined;
    const id = freeId(explicit?.[1] ?? named, under || prefix, taken);
    taken.add(id);
    const said = (explicit?.[2] ?? text).trim();
    // Numbered as it would be anyway: the number is not said twice.
    const title = said.startsWith(`${id} `) ? said.slice(id.length + 1).trim() : said;
    return {
      task: { id, title, ticked: item.checked === true, file, line: lineOf(item) },
      at: boxOffset(item, source),
    };
  });
}

/** The first line of the item, with its Markdown: a path in backticks means more to an agent than a bare word. */
function titleOf(item: ListItem, source: string): string {
  const paragraph = itemParagraph(item);
  const raw = paragraph === undefined ? "" : source.slice(startOf(paragraph), endOf(paragraph));
  // Where the text begins with something bold, Markdown leaves the box in it.
  const line = (raw.split(/\r?\n/, 1)[0] ?? "").trim().replace(/^\[[ xX]\]\s+/, "");
  return line.replace(/:$/, "") || "(no text)";
}

const boxOffset = (item: ListItem, source: string): number => source.indexOf("[", startOf(item)) + 1;

function freeId(wanted: string | undefined, prefix: string, taken: ReadonlySet<string>): string {
  if (wanted !== undefined && !taken.has(wanted)) return wanted;
  const base = wanted ?? prefix;
  for (let n = taken.size === 0 ? 1 : countOf(base, taken) + 1; ; n++) {
    const id = base === "" ? `t${n}` : `${base}.${n}`;
    if (!taken.has(id)) return id;
  }
}

/** How many ids with this beginning there are: numbering goes on from there, without trying each. */
function countOf(base: string, taken: ReadonlySet<string>): number {
  const counted = counts.get(taken) ?? new Map<string, number>();
  counts.set(taken, counted);
  const next = counted.get(base) ?? 0;
  counted.set(base, next + 1);
  return next;
}
const counts = new WeakMap<ReadonlySet<string>, Map<string, number>>();
