/** The short report at the end of a run, as text. */

import { thousands } from "./numbers.js";
import type { PhaseFigures, RunFigures } from "./report.js";
import { table } from "./table.js";

const HEAD = ["phase", "status", "tasks", "sessions", "handovers", "peak", "tokens", "gates", "commits"];

export const summaryTable = (figures: RunFigures): string => table(HEAD, figures.phases.map(rowOf));

function rowOf(phase: PhaseFigures): string[] {
  const title = phase.title.length > 32 ? `${phase.title.slice(0, 31)}…` : phase.title;
  const passed = phase.gates.filter((gate) => gate.passed).length;
  return [
    `${phase.part_of === undefined ? "" : "↳ "}${phase.id} ${title}${phase.parts.length === 0 ? "" : ` (${phase.parts.join(", ")})`}`,
    phase.status === "done" && !phase.verified ? "unverified" : phase.status,
    `${phase.tasks.done}/${phase.tasks.total}`,
    String(phase.sessions),
    String(phase.restarts),
    `${phase.peak_percent} %`,
    thousands(phase.tokens.total),
    phase.gates.length === 0 ? "none" : `${passed}/${phase.gates.length} passed`,
    phase.commits.map((sha) => sha.slice(0, 7)).join(" ") || "none",
  ];
}
