/** A phase's own text with its boxes as they stand now, each with the id of its task. */
import type { Phase } from "./model.js";

const BOX = /^(\s*(?:[-*+]|\d+[.)])\s+)\[[^\]]{1,2}\](\*?)\s*(.*)$/u;

/** Undefined where a task has no box of its own in the text: then it must be said beside it. */
export function markedText(
  { text, tasks, leftOut = [] }: Pick<Phase, "text" | "tasks" | "leftOut">,
  done: ReadonlySet<string>,
): string | undefined {
  const lines = text.trim().split(/\r?\n/);
  const marked = new Set<number>();
  let from = 0;
  for (const { id, title } of tasks) {
    const at = lines.findIndex((line, n) => n >= from && (BOX.exec(line)?.[3] ?? "").includes(title));
    const [, bullet, , rest = ""] = BOX.exec(lines[at] ?? "") ?? [];
    if (bullet === undefined) return undefined;
    // What stood before the title was the id, if anything: it is said in one way for all.
    lines[at] = `${bullet}[${done.has(id) ? "x" : " "}] ${id} ${rest.slice(rest.indexOf(title))}`;
    marked.add(at);
    from = at + 1;
  }
  const optional = new Set(leftOut.map(({ title }) => title));
  return lines.map((line, n) => (marked.has(n) ? line : unboxed(line, lines, n, marked, optional))).join("\n");
}

/** Only tasks have boxes: what stands above some of them, and what is left out, is told without one. */
function unboxed(
  line: string,
  lines: readonly string[],
  n: number,
  marked: ReadonlySet<number>,
  optional: ReadonlySet<string>,
): string {
  const [, bullet, star, rest = ""] = BOX.exec(line) ?? [];
  if (bullet === undefined) return line;
  if (star === "*" && [...optional].some((title) => rest.includes(title)))
    return `${bullet}(optional, left out) ${rest}`;
  return hasTaskBelow(lines, n, marked) ? `${bullet}${rest}` : line;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

function hasTaskBelow(lines: readonly string[], n: number, marked: ReadonlySet<number>): boolean {
  const own = indentOf(lines[n] ?? "");
  for (let at = n + 1; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (line.trim() !== "" && indentOf(line) <= own) return false;
    if (marked.has(at)) return true;
  }
  return false;
}
