/** The short report at the end of a run, as text. */
import { thousands } from "./numbers.js";
import type { PhaseFigures, RunFigures } from "./report.js";
import { fits, table } from "./table.js";

const titleOf = ({ part_of, id, title, parts }: PhaseFigures): string => {
  const short = title.length > 32 ? `${title.slice(0, 31)}…` : title;
  return `${part_of === undefined ? "" : "↳ "}${id} ${short}${parts.length === 0 ? "" : ` (${parts.join(", ")})`}`;
};

const gatesOf = ({ gates }: PhaseFigures): string =>
  gates.length === 0 ? "none" : `${gates.filter((gate) => gate.passed).length}/${gates.length} passed`;

/** A part without gates of its own is judged with the whole. */
const isUnverified = ({ status, verified, part_of, gates }: PhaseFigures): boolean =>
  status === "done" && !verified && (part_of === undefined || gates.length > 0);

/** `drop`: where not all of them fit, the highest is left out first. */
const COLUMNS: { head: string; drop: number; cell: (phase: PhaseFigures) => string }[] = [
  { head: "phase", drop: 0, cell: titleOf },
  {
    head: "status",
    drop: 0,
    cell: (phase) => (isUnverified(phase) ? "unverified" : phase.status),
  },
  { head: "agents", drop: 3, cell: ({ agents }) => agents.join(", ") },
  { head: "tasks", drop: 1, cell: ({ tasks }) => `${tasks.done}/${tasks.total}` },
  { head: "sessions", drop: 3, cell: ({ sessions }) => String(sessions) },
  { head: "handovers", drop: 5, cell: ({ restarts }) => String(restarts) },
  { head: "peak", drop: 4, cell: ({ peak_percent }) => `${Math.round(peak_percent)} %` },
  { head: "tokens", drop: 2, cell: ({ tokens }) => thousands(tokens.total) },
  { head: "gates", drop: 1, cell: gatesOf },
  {
    head: "commits",
    drop: 6,
    cell: ({ commits }) => commits.map((sha) => sha.slice(0, 7)).join(" ") || "none",
  },
];

/** `width`: of the terminal; undefined: it may be as wide as it is. */
export function summaryTable({ phases }: RunFigures, width?: number): string {
  const several = new Set(phases.flatMap(({ agents }) => agents)).size > 1;
  const kept = COLUMNS.filter(({ head }) => several || head !== "agents");
  const draw = (): string =>
    table(
      kept.map(({ head }) => head),
      phases.map((phase) => kept.map(({ cell }) => cell(phase))),
    );
  while (width !== undefined && !fits(draw(), width)) {
    const next = kept.toSorted((a, b) => b.drop - a.drop)[0];
    if (next === undefined || next.drop === 0) break;
    kept.splice(kept.indexOf(next), 1);
  }
  const unverified = phases.some(isUnverified);
  const why = "unverified: done, but nothing could judge it: the phase has no gate that ran and passed.";
  return unverified ? `${draw()}\n\n${why}` : draw();
}
