/** The words plans use for how far a phase is. */
import type { PlanMark } from "./model.js";

const WORDS = new Map<string, PlanMark>([
  ...["done", "complete", "completed", "finished", "✓", "✅", "✔", "✔️"].map((word): [string, PlanMark] => [
    word,
    "done",
  ]),
  ...["failed", "❌", "✗"].map((word): [string, PlanMark] => [word, "failed"]),
]);

/** What Segno writes. */
export const STATUS_WORDS: Record<PlanMark, string> = {
  done: "Completed",
  unverified: "Completed (not verified)",
  failed: "Failed",
};

/** Plans decorate: `✅ Completed`, `**Done**`, `Completed (2026-01-02)`. The first words decide. */
export function markOf(value: string): PlanMark | undefined {
  const words = value
    .replaceAll(/[*_`[\]]/g, " ")
    .trim()
    .toLowerCase()
    .split(/[\s(:,.]+/)
    .filter((word) => word !== "");
  if (words[0] === "not") return undefined;
  const mark = words.slice(0, 2).flatMap((word) => WORDS.get(word) ?? [])[0];
  return mark === "done" && /\(not verified\)/i.test(value) ? "unverified" : mark;
}
