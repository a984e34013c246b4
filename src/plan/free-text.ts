/**
 * A document without boxes, taken as a plan: headings as phases, their bullets as tasks. Nothing of it is run as it stands:
 * it is shown, and written as a plan of Segno's own form when the user asks for that.
 */
import type { List, ListItem, RootContent } from "mdast";
import { boxesIn, isTicked } from "./boxes.js";
import { contentOf, type Document, goalOf, innerSections, ownContentOf, type Section, titleOf } from "./document.js";
import { endOf, itemParagraph, itemsOf, startOf, textOf } from "./markdown.js";
import type { Outline, OutlinePhase, OutlineTask } from "./model.js";

/** Headings that tell about the work and are none. */
const BACKGROUND =
  /^(overview|goals?|context|background|motivation|summary|introduction|why|what changes|impact|non-?goals?|out of scope|scope|risks?|references?|links?|open questions?|questions|notes?|assumptions?|constraints?|dependencies|resources|glossary|appendix|decisions?|architecture|tech(nical)? stack|rollback|timeline|alternatives)\b/i;
const CRITERIA =
  /^(acceptance|success) criteria\b|^definition of done\b|^(verification|validation|testing|how to (test|verify))\b/i;

/** Undefined where there is nothing that could be phases and tasks. */
export function outlineOf(document: Document): Outline | undefined {
  const sections = phaseSections(document);
  const phases =
    sections.length > 0
      ? [...boxesBefore(document, sections), ...sections.map((section) => phaseOf(document, section))]
      : phasesOfList(document, document.root.children as RootContent[]);
  const whole = document.sections.filter(
    (section) =>
      isBackground(document, section) &&
      CRITERIA.test(section.title) &&
      !sections.some((own) => isWithin(section, own)),
  );
  const last = phases.at(-1);
  // What the whole must fulfil is judged when the last of it is done.
  last?.criteria.push(...whole.flatMap((section) => textsIn(contentOf(document, section))));
  const found = phases.filter(({ tasks }) => tasks.length > 0);
  return found.length === 0 ? undefined : { title: titleOf(document), goal: goalOf(document), phases: found };
}

const isWithin = (inner: Section, outer: Section): boolean => inner.from > outer.from && inner.from <= outer.end;

const hasItems = (nodes: readonly RootContent[]): boolean => nodes.some((node) => node.type === "list");

/** Whatever it is called: boxes are things to do. */
const hasBoxes = (document: Document, section: Section): boolean =>
  boxesIn(ownContentOf(document, section), document.source).length > 0;

const isBackground = (document: Document, section: Section): boolean =>
  (BACKGROUND.test(withoutNumber(section.title)) || CRITERIA.test(section.title)) && !hasBoxes(document, section);

/** Headings of the outermost depth at which there are several with bullets below them, or one with bullets of its own. */
function phaseSections(document: Document): Section[] {
  const { sections } = document;
  const background = sections.filter((section) => isBackground(document, section));
  const free = sections.filter(
    (section) =>
      !isTitle(document, section) &&
      !background.some((other) => other === section || isWithin(section, other)) &&
      hasItems(contentOf(document, section)),
  );
  for (const depth of [1, 2, 3, 4, 5, 6]) {
    const at = free.filter(({ heading }) => heading.depth === depth);
    if (at.length > 1 || at.some((section) => hasItems(ownContentOf(document, section)))) return at;
  }
  return [];
}

/** The first heading of a document, where it is the only one of its depth. */
const isTitle = ({ sections }: Document, { index, heading }: Section): boolean =>
  index === 0 &&
  heading.depth === 1 &&
  sections.length > 1 &&
  sections.filter((section) => section.heading.depth === 1).length === 1;

const withoutNumber = (title: string): string => title.replace(/^(?:(?:phase|step|part|stage)\s+)?\d+[.:)]?\s+/i, "");

function phaseOf(document: Document, section: Section): OutlinePhase {
  const criteria = innerSections(document, section).filter(
    (inner) => CRITERIA.test(inner.title) && isBackground(document, inner),
  );
  const ownNodes = contentOf(document, section).filter((_, n) => {
    const at = section.from + n;
    return !criteria.some(({ from, end }) => at >= from - 1 && at < end);
  });
  return {
    title: withoutNumber(section.title).trim() || section.title,
    line: section.line,
    text: wordsIn(document, ownNodes),
    tasks: tasksIn(document, ownNodes),
    criteria: criteria.flatMap((each) => textsIn(contentOf(document, each))),
  };
}

/** Boxes that stand before the first heading that is a phase: they are to be done, too, and first. */
function boxesBefore(document: Document, [first]: readonly Section[]): OutlinePhase[] {
  const nodes = document.root.children
    .slice(0, Math.max(0, (first?.from ?? 1) - 1))
    .filter((node) => node.type === "list" && boxesIn([node], document.source).length > 0);
  if (nodes.length === 0) return [];
  return [{ title: titleOf(document), line: 1, text: "", tasks: tasksIn(document, nodes), criteria: [] }];
}

/** No headings: the items that have others below them are phases; a plain list is one. */
function phasesOfList(document: Document, nodes: readonly RootContent[]): OutlinePhase[] {
  const items = nodes.flatMap((node) => (node.type === "list" ? node.children : []));
  const nested = items.filter((item) => item.children.some((child) => child.type === "list"));
  if (nested.length < 2 || nested.length < items.length)
    return items.length === 0
      ? []
      : [
          {
            title: titleOf(document),
            line: 1,
            text: wordsIn(document, nodes),
            tasks: tasksIn(document, nodes),
            criteria: [],
          },
        ];
  return nested.map((item) => {
    const paragraph = itemParagraph(item);
    const below = item.children.filter((child) => child.type === "list") as RootContent[];
    return {
      title: paragraph === undefined ? "Part" : firstLine(textOf(paragraph)),
      line: item.position?.start.line ?? 1,
      text: "",
      tasks: tasksIn(document, below),
      criteria: [],
    };
  });
}

function tasksIn(document: Document, nodes: readonly RootContent[]): OutlineTask[] {
  const lists = nodes.filter((node): node is List => node.type === "list");
  return lists.flatMap(({ children }) => children.flatMap((item) => taskOf(document, item)));
}

function taskOf({ source }: Document, item: ListItem): OutlineTask[] {
  const paragraph = itemParagraph(item);
  if (paragraph === undefined) return [];
  const [box] = boxesIn([{ type: "list", children: [item] } as List], source);
  const raw = source.slice(startOf(paragraph), endOf(paragraph)).replace(/^\[[^\]]{1,2}\]\*?\s*/u, "");
  const title = firstLine(raw).replace(/:$/, "").trim();
  if (title === "") return [];
  const column = (paragraph.position?.start.column ?? 3) - 1;
  const rest = source.slice(endOf(paragraph), endOf(item)).replaceAll("\r", "");
  const more = raw
    .replaceAll("\r", "")
    .split("\n")
    .slice(1)
    .map((line) => line.trim());
  const details = [...more, ...dedent(rest, column)].join("\n").trim();
  return [{ title, details, ticked: box !== undefined && isTicked(box) }];
}

const firstLine = (text: string): string => (text.split(/\r?\n/, 1)[0] ?? "").trim();

const dedent = (text: string, column: number): string[] =>
  text.split("\n").map((line) => (line.slice(0, column).trim() === "" ? line.slice(column) : line.trimStart()));

/** Everything but lists and headings, as it is written. */
const wordsIn = ({ source }: Document, nodes: readonly RootContent[]): string =>
  nodes
    .filter((node) => node.type !== "list" && node.type !== "heading" && node.type !== "html")
    .map((node) => source.slice(startOf(node), endOf(node)).replaceAll("\r", ""))
    .join("\n\n");

const textsIn = (nodes: readonly RootContent[]): string[] =>
  [...itemsOf(nodes)].flatMap((item) => {
    const paragraph = itemParagraph(item);
    const text = paragraph === undefined ? "" : textOf(paragraph).replaceAll(/\s+/g, " ").trim();
    return text === "" ? [] : [text];
  });
