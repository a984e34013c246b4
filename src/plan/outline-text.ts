/** What a document without boxes would be as a plan, in words. */
import type { Outline } from "./model.js";

const MOST_LINES = 60;

export function outlineText({ phases }: Outline): string {
  const lines = phases.flatMap(({ title, tasks }, n) => [
    `  phase ${n + 1}  ${title}`,
    ...tasks.map((task) => `    - ${task.title.slice(0, 100)}`),
  ]);
  const shown = lines.slice(0, MOST_LINES);
  return [...shown, ...(lines.length > shown.length ? [`  … and ${lines.length - shown.length} lines more`] : [])].join(
    "\n",
  );
}
