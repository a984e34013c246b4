/** A phase's own text with its boxes as they stand now, each with the id of its task. */
import type { Phase } from "./model.js";

const BOX = /^(\s*(?:[-*+]|\d+[.)])\s+)\[[ xX]\]\s*(.*)$/;

/** Undefined where a task has no box of its own in the text: then it must be said beside it. */
export function markedText(
  { text, tasks }: Pick<Phase, "text" | "tasks">,
  done: ReadonlySet<string>,
): string | undefined {
  const lines = text.trim().split("\n");
  let from = 0;
  for (const { id, title } of tasks) {
    const at = lines.findIndex((line, n) => n >= from && (BOX.exec(line)?.[2] ?? "").includes(title));
    const [, bullet, rest = ""] = BOX.exec(lines[at] ?? "") ?? [];
    if (bullet === undefined) return undefined;
    // What stood before the title was the id, if anything: it is said in one way for all.
    lines[at] = `${bullet}[${done.has(id) ? "x" : " "}] ${id} ${rest.slice(rest.indexOf(title))}`;
    from = at + 1;
  }
  return lines.join("\n");
}
