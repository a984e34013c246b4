/**
 * Whether a run whose conductor died in the middle goes on by itself.
 *
 *   died ─ at most three times in ten minutes, and something came of it since the last time ─▶ revived
 *        ─ else ─▶ failed, with the place where it died
 */
import type { FactType, RunEvent } from "./event.js";
import type { RunState } from "./state.js";

export type Revival = { type: "revive"; times: number } | { type: "leave" } | { type: "fail"; why: string };

const MOST = 3;
const WITHIN_MS = 10 * 60_000;

/** Facts that something came of: a run that dies again before any of them dies of itself. */
const STEPS: ReadonlySet<FactType> = new Set([
  "tool-finished",
  "progress-reported",
  "decision-recorded",
  "result-reported",
  "checkpoint-saved",
  "gate-finished",
  "phase-started",
  "phase-inspected",
  "phase-merged",
  "merge-begun",
  "phase-done",
  "question-answered",
]);

export function revivalOf(state: RunState, events: readonly RunEvent[], now: string): Revival {
  const { status, mode, stopping, config } = state;
  // An orderly end, a stop that somebody asked for: nobody wants it back.
  if (status !== "running" || mode !== "run" || stopping !== undefined || !config.revive) return { type: "leave" };
  const revivals = events.flatMap((event, at) =>
    event.type === "run-resumed" && event.revived !== undefined ? [{ at, when: event.at }] : [],
  );
  const lately = revivals.filter(({ when }) => Date.parse(now) - Date.parse(when) < WITHIN_MS);
  const last = events.at(-1);
  const place = `event ${last?.seq} (${last?.type}${last !== undefined && "phase" in last ? ` of phase ${last.phase}` : ""})`;
  if (lately.length >= MOST)
    return { type: "fail", why: `Segno ended ${MOST + 1} times within ten minutes, the last time after ${place}` };
  const before = revivals.at(-1);
  // What a resume itself settles is no step.
  const settled = before === undefined ? 0 : settledBy(events, before.at);
  const stepped = before === undefined || events.slice(settled).some(({ type }) => STEPS.has(type));
  if (!stepped) return { type: "fail", why: `Segno ended twice at the same place, after ${place}` };
  return { type: "revive", times: lately.length + 1 };
}

/** Where what the resume wrote about the interruption ends: its next decision. */
function settledBy(events: readonly RunEvent[], resumed: number): number {
  const next = events.findIndex(({ type }, at) => at > resumed && type === "command-issued");
  return next < 0 ? events.length : next;
}
