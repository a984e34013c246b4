/** What commands print, and how they end. */
import type { RunEvent } from "../run/event.js";
import type { RunView } from "../view/board.js";
import { contextReport } from "../view/context-report.js";
import { lineOf } from "../view/lines.js";
import { figuresOf } from "../view/report.js";
import { isInBackground } from "./background.js";

/** One line a person can follow, or one JSON object a machine can. */
export function eventPrinter(json: boolean, view: RunView): (event: RunEvent) => void {
  // Whoever watches reads the journal.
  if (isInBackground()) return () => {};
  if (json) return (event) => console.log(JSON.stringify(event));
  const seen = { percent: -1, rehearsal: false };
  return (event) => {
    if (event.type === "run-started") seen.rehearsal = event.mode === "rehearsal";
    // What a stand-in model needs says nothing about a real one.
    if (event.type === "forecast-made" && seen.rehearsal) return;
    // The gauge is worth a line when it moved.
    if (event.type === "call-made") {
      if (event.subagent || Math.abs(event.reading.percent - seen.percent) < 5) return;
      seen.percent = event.reading.percent;
    }
    const line = lineOf(event);
    if (line === undefined) return;
    const time = event.at.slice(11, 19);
    console.log(`${time}  ${(line.phase ?? "").padEnd(4)} ${line.symbol} ${line.text}`);
    if (event.type === "phase-done" || event.type === "phase-failed") {
      const { board } = view;
      const told = board === undefined ? [] : contextReport(figuresOf(board), event.phase);
      for (const text of told) console.log(`${" ".repeat(17)}${text}`);
    }
  };
}
