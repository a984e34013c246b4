/** `Depends On`: links, ids, lists, ranges, "ALL (1, 2, 3)", "Tasks 1-5", "None (can run independently)". */
import type { Field } from "./fields.js";

export interface DependencyNames {
  /** Ids of the plan in document order, for ranges and "all". */
  known: readonly string[];
  /** The phase itself: "all" means all before it. */
  self: string;
  idOfLink: (url: string) => string | undefined;
}

const NONE = /^(none|nothing|no dependencies|n\/a|-+|—|–|\[\])/i;
const WORD = /^[A-Za-z0-9][\w.-]*$/;

export function readDependencies(field: Pick<Field, "value" | "links"> | undefined, names: DependencyNames): string[] {
  const value = field?.value.trim() ?? "";
  if (field === undefined || value === "" || NONE.test(value)) return [];
  if (field.links.length > 0) {
    return unique(field.links.map((link) => names.idOfLink(link.url) ?? bareId(link.text)).filter((id) => id !== ""));
  }
  const all = /^(?:previous phases:\s*)?all\b\s*(?:\(([^)]*)\))?/i.exec(value);
  if (all !== null) {
    const before = names.known.slice(0, Math.max(0, names.known.indexOf(names.self)));
    return all[1] === undefined ? before : idsOf(all[1], names);
  }
  return idsOf(value.replaceAll(/\([^)]*\)/g, " "), names).filter((id) => id !== names.self);
}

function idsOf(list: string, names: DependencyNames): string[] {
  const parts = list.replaceAll(/[[\]`*]/g, " ").split(/[,;&+]|\band\b/i);
  return unique(parts.flatMap((part) => idsOfPart(part, names)));
}

function idsOfPart(part: string, { known }: DependencyNames): string[] {
  const text = bareId(part);
  if (text === "") return [];
  if (known.includes(text)) return [text];
  const range = /^([A-Za-z0-9][\w.]*)\s*(?:-|–|—|\bto\b|\bthrough\b|\.\.+)\s*([A-Za-z0-9][\w.]*)$/i.exec(text);
  if (range !== null) return idsOfRange(range[1] as string, bareId(range[2] as string), known);
  const first = text.split(/\s+/)[0] as string;
  // Prose is no dependency; a word that is an id, or looks like one, is.
  if (known.includes(first)) return [first];
  return text === first && WORD.test(first) && /\d/.test(first) ? [first] : [];
}

function idsOfRange(from: string, to: string, known: readonly string[]): string[] {
  const [start, end] = [known.indexOf(from), known.indexOf(to)];
  if (start >= 0 && end >= start) return known.slice(start, end + 1);
  const [low, high] = [Number(from), Number(to)];
  if (!Number.isInteger(low) || !Number.isInteger(high) || high < low || high - low > 1_000) return [from, to];
  return Array.from({ length: high - low + 1 }, (_, index) => String(low + index));
}

const bareId = (text: string): string =>
  text
    .trim()
    .replace(/^(?:(?:sub-)?phases?|tasks?|waves?)\s+/i, "")
    .trim();
const unique = (ids: string[]): string[] => [...new Set(ids)];
