/** `--until 6h`, `--until 07:30`: the run is stopped in time, as if somebody had asked for it. */

import { bad, good, type Result } from "../engine/failure.js";
import type { HeldRun } from "../engine/held-run.js";

/** Kept in the environment, so that whoever takes the run up again after a crash knows it, too. */
const VARIABLE = "SEGNO_UNTIL";

/** The running tool may take a while, and the checkpoint a moment: so much earlier at most. */
const MOST_LEAD_MS = 120_000;
const LEAD_SHARE = 0.05;
const LONGEST_TIMER_MS = 2_000_000_000;

/** A length of time, a time of day (the next one), or a moment. */
export function readUntil(text: string, now: Date): Date | undefined {
  const [, hours, minutes] = /^(?:(\d+(?:\.\d+)?)h)?(?:(\d+)m(?:in)?)?$/.exec(text.trim()) ?? [];
  if (hours !== undefined || minutes !== undefined)
    return new Date(now.getTime() + (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000);
  const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(text.trim()) ?? [];
  if (hour !== undefined && minute !== undefined) {
    if (Number(hour) > 23 || Number(minute) > 59) return undefined;
    const at = new Date(now);
    at.setHours(Number(hour), Number(minute), 0, 0);
    if (at <= now) at.setDate(at.getDate() + 1);
    return at;
  }
  const moment = /^\d{4}-\d{2}-\d{2}T/.test(text) ? new Date(text) : undefined;
  return moment === undefined || Number.isNaN(moment.getTime()) || moment <= now ? undefined : moment;
}

/** Remembers it for this process and those that follow it. */
export function setUntil(text: string | undefined): Result<undefined> {
  if (text === undefined) return good(undefined);
  const until = readUntil(text, new Date());
  if (until === undefined)
    return bad({
      type: "usage",
      what: `--until is "${text}".`,
      fix: "Give a length of time (6h, 90m, 1h30m), a time of day (07:30), or a moment in the future (2026-12-24T18:00).",
    });
  process.env[VARIABLE] = until.toISOString();
  return good(undefined);
}

/** Asks the run to stop a little before; the function takes that back. */
export function stopInTime({ run }: HeldRun): () => void {
  const text = process.env[VARIABLE];
  const until = text === undefined ? Number.NaN : Date.parse(text);
  if (Number.isNaN(until)) return () => {};
  const left = until - Date.now();
  const wait = Math.max(0, left - Math.min(MOST_LEAD_MS, left * LEAD_SHARE));
  // Further away than a timer reaches, nothing is due yet.
  if (wait > LONGEST_TIMER_MS) return () => {};
  const timer = setTimeout(() => {
    if (run.state.status === "running" && run.state.stopping === undefined)
      run.append({ type: "stop-requested", by: "--until", cause: "asked" });
  }, wait);
  timer.unref();
  return () => clearTimeout(timer);
}
