/** A run as Markdown, for a pull request. */

import type { Board, BoardPhase } from "./board.js";
import { failingGates } from "./failure.js";
import { thousands } from "./numbers.js";

/** What agents and plans wrote must not become Markdown of ours. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_{}[\]<>#|!]/g, "\\$&")
    .trim();

const cost = (dollars: number | undefined): string => (dollars === undefined ? "unknown" : `$${dollars.toFixed(2)}`);

const minutes = (from: string | undefined, to: string): string =>
  from === undefined ? "" : `${Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / 60_000))} min`;

const BARS = "▁▂▃▄▅▆▇█";

/** The sawtooth: how full the window was, session by session. */
export function sparkline(values: readonly number[], width: number): string {
  if (values.length === 0) return "";
  const per = Math.max(1, Math.ceil(values.length / width));
  const columns: number[] = [];
  for (let at = 0; at < values.length; at += per) columns.push(Math.max(...values.slice(at, at + per)));
  return columns.map((value) => BARS[Math.min(7, Math.max(0, Math.floor((value / 100) * 8)))]).join("");
}

/** Readings of a phase, in percent of their windows, in order. */
export const percentsOf = ({ sessions }: Pick<Board, "sessions">, phase?: string): number[] =>
  sessions
    .filter((session) => (phase === undefined || session.phase === phase) && session.window > 0)
    .flatMap(({ points, window }) =>
      points.filter((_, index) => index % 2 === 1).map((tokens) => (tokens / window) * 100),
    );

export function markdownReport(board: Board): string {
  const { spent } = board;
  const handovers = board.phases
    .filter(({ part_of }) => part_of === undefined)
    .reduce((sum, phase) => sum + phase.restarts, 0);
  const row = (phase: BoardPhase): string => {
    const passed = phase.gates.filter((gate) => gate.passed).length;
    const judged = phase.verified || (phase.part_of !== undefined && phase.gates.length === 0);
    const state = phase.status === "done" && !judged ? "unverified" : phase.status;
    return `| ${phase.part_of === undefined ? "" : "↳ "}${plain(phase.id)} ${plain(phase.title)} | ${state} | ${phase.tasks.done}/${phase.tasks.total} | ${phase.sessions} | ${phase.restarts} | ${phase.peak_percent} % ${sparkline(percentsOf(board, phase.id), 24)} | ${thousands(phase.tokens.total)} | ${cost(phase.cost_usd)} | ${minutes(phase.startedAt, phase.endedAt ?? board.now)} | ${phase.gates.length === 0 ? "none" : `${passed}/${phase.gates.length}`} |`;
  };
  const several = new Set(board.phases.flatMap(({ agents }) => agents)).size > 1;
  const who = board.phases
    .filter(({ agents }) => several && agents.length > 0)
    .map(({ id, agents }) => `- Phase ${plain(id)}: ${plain(agents.join(", then "))}`);
  const failures = board.phases.flatMap((phase) => {
    const { id, failure } = phase;
    if (failure === undefined) return [];
    const gates = failingGates(phase).flatMap(({ name, why, tail }) => [
      `  - gate ${plain(name)}: ${plain(why)}`,
      ...(tail.length === 0 ? [] : ["", ...tail.map((line) => `        ${line}`), ""]),
    ]);
    return [`- Phase ${plain(id)} failed (${failure.category}): ${plain(failure.message)}`, ...gates];
  });
  const notices = board.notices.map(
    ({ phase, text }) => `- ${phase === undefined ? "" : `Phase ${plain(phase)}: `}${plain(text)}`,
  );
  return `# ${plain(board.title)}: ${board.status}

Run \`${board.run}\` of \`${board.plan}\` on \`${board.branch}\`, ${minutes(board.startedAt, board.now)}: ${board.sessions.length} sessions, ${handovers} handovers, ${spent.calls} calls, ${thousands(spent.total)} tokens (${thousands(spent.input)} input, ${thousands(spent.cacheRead)} cached, ${thousands(spent.output)} output), ${cost(spent.cost_usd)}.

| phase | state | tasks | sessions | handovers | peak context | tokens | cost | time | gates |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${board.phases.map(row).join("\n")}
${who.length === 0 ? "" : `\n## Who did what\n\n${who.join("\n")}\n`}${failures.length === 0 ? "" : `\n${failures.join("\n")}\n`}${notices.length === 0 ? "" : `\n## Worth knowing\n\n${notices.join("\n")}\n`}`;
}
