/** Where marks stand in a plan file, and what it takes to change them and nothing else. */
import type { PlanMark } from "./model.js";
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

export type StatusSite = ValueSite | TagSite | AttributeSite;

export interface Sites {
  status: StatusSite | undefined;
  /** The box of each task, by id. */
  boxes: ReadonlyMap<string, number>;
}

export interface Edit {
  start: number;
  end: number;
  text: string;
}

const TAGS: Record<PlanMark, string> = { done: "[COMPLETE]", failed: "[FAILED]" };
const ATTRIBUTES: Record<PlanMark, string> = { done: 'status="done"', failed: 'status="failed"' };

export function statusEdit(site: StatusSite, mark: PlanMark): Edit {
  switch (site.type) {
    case "value":
      return { start: site.start, end: site.end, text: STATUS_WORDS[mark] };
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

const TAG = /\[(COMPLETED?|DONE|FAILED)\]/i;

/** The tag of a heading, found in its own line. */
export function tagSite(
  source: string,
  start: number,
  end: number,
  saidByBoxes = false,
): { site: TagSite; mark: PlanMark | undefined } {
  const line = source.slice(start, end);
  const found = TAG.exec(line);
  // A closed heading ends with its own marks: `### Title ###`.
  const at = start + line.replace(/[ \t]+#+[ \t]*$/, "").trimEnd().length;
  if (found === null) return { site: { type: "tag", at, existing: undefined, saidByBoxes }, mark: undefined };
  const from = start + found.index;
  const mark = /failed/i.test(found[1] as string) ? "failed" : "done";
  return { site: { type: "tag", at, existing: { start: from, end: from + found[0].length }, saidByBoxes }, mark };
}
