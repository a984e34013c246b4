/** The words plans use for how far a phase is. */
const DONE = new Set(["done", "complete", "completed", "finished", "✓", "✅", "✔"]);

/** Plans decorate: `✅ Completed`, `**Done**`, `Completed (2026-01-02)`. The first word decides. */
export function meansDone(value: string): boolean {
  const words = value
    .replaceAll(/[*_`[\]]/g, " ")
    .trim()
    .toLowerCase()
    .split(/[\s(:,.]+/)
    .filter((word) => word !== "");
  return words.length > 0 && words.slice(0, 2).some((word) => DONE.has(word)) && words[0] !== "not";
}

/** What Segno writes. */
export const STATUS_WORDS = { done: "Completed", failed: "Failed" } as const;
