/** Where marks stand in a plan file, and what it takes to change them and nothing else. */
import type { Heading } from "mdast";
import { endOf, startOf } from "./markdown.js";
import { isDone, type PlanMark } from "./model.js";
import { STATUS_WORDS } from "./statuses.js";

/** A status that is text of its own: a field's value or a table's cell. */
interface ValueSite {
  type: "value";
  start: number;
  end: number;
  value: string;
}

/** A tag behind a heading: `### Phase 1: Title [COMPLETE]`. `at`: where one is added. */
interface TagSite {
  type: "tag";
  at: number;
  existing: { start: number; end: number } | undefined;
  /** Boxes that are all ticked mean the same. */
  saidByBoxes: boolean;
}

/** `<task id="1" status="done">`. */
interface AttributeSite {
  type: "attribute";
  at: number;
  existing: { start: number; end: number } | undefined;
}

/** A box of its own: ticked when it is done. */
interface BoxSite {
  type: "box";
  at: number;
}

/** A word of another tool's: what stands there when it is done. A failure has none. */
export interface WordSite {
  type: "word";
  start: number;
  end: number;
  done: string;
  /** What stands there now: another word for done is somebody's, and stays. */
  says: PlanMark | undefined;
}

export type StatusSite = ValueSite | TagSite | AttributeSite | BoxSite | WordSite;

export interface Sites {
  status: StatusSite | undefined;
  /** It speaks of a file that may hold several phases: done when all of them are. */
  ofWhole?: true;
  /** The box of each task, by id. */
  boxes: ReadonlyMap<string, number>;
  /** Tasks whose mark is a word. */
  words?: ReadonlyMap<string, WordSite>;
  /** Boxes that are ticked when all of these tasks are done. */
  groups?: readonly { at: number; tasks: readonly string[] }[];
}

export interface Edit {
  start: number;
  end: number;
  text: string;
}

const TAGS: Record<PlanMark, string> = {
  done: "[COMPLETE]",
  unverified: "[COMPLETE (not verified)]",
  failed: "[FAILED]",
};
const ATTRIBUTES: Record<PlanMark, string> = {
  done: 'status="done"',
  unverified: 'status="done"',
  failed: 'status="failed"',
};

/** Undefined where such a site has no word for it. */
export function statusEdit(site: StatusSite, mark: PlanMark, source: string): Edit | undefined {
  switch (site.type) {
    case "word":
      return isDone(mark) && !isDone(site.says) ? { start: site.start, end: site.end, text: site.done } : undefined;
    case "box":
      return isDone(mark) ? { start: site.at, end: site.at + 1, text: "x" } : undefined;
    case "value":
      // Without a space in front of it a word would undo the label's own emphasis.
      return {
        start: site.start,
        end: site.end,
        text: (site.start === site.end || /[*_]/.test(source[site.start - 1] ?? "") ? " " : "") + STATUS_WORDS[mark],
      };
    case "tag":
      return site.existing === undefined
        ? { start: site.at, end: site.at, text: ` ${TAGS[mark]}` }
        : { ...site.existing, text: TAGS[mark] };
    case "attribute":
      return site.existing === undefined
        ? { start: site.at, end: site.at, text: ` ${ATTRIBUTES[mark]}` }
        : { ...site.existing, text: ATTRIBUTES[mark] };
    default:
      return site satisfies never;
  }
}

/** A heading without its tag. */
export const untagged = (title: string): string =>
  title
    .replace(TAG, " ")
    .replaceAll(/\s{2,}/g, " ")
    .trim();

/** Behind a heading, as Segno and people write it. */
const TAG = /\[(COMPLETED?|DONE|FAILED)( \(not verified\))?\]/i;

/** The tag of a heading, found and added within its text: a heading may end with marks of its own, or be underlined. */
export function tagSite(
  source: string,
  heading: Heading,
  saidByBoxes = false,
): { site: TagSite; mark: PlanMark | undefined } {
  const [first, last] = [heading.children[0], heading.children.at(-1)];
  if (first === undefined || last === undefined) {
    return { site: { type: "tag", at: endOf(heading), existing: undefined, saidByBoxes }, mark: undefined };
  }
  const [start, at] = [startOf(first), endOf(last)];
  const found = TAG.exec(source.slice(start, at));
  if (found === null) return { site: { type: "tag", at, existing: undefined, saidByBoxes }, mark: undefined };
  const from = start + found.index;
  const mark = /failed/i.test(found[1] as string) ? "failed" : found[2] === undefined ? "done" : "unverified";
  return { site: { type: "tag", at, existing: { start: from, end: from + found[0].length }, saidByBoxes }, mark };
}
