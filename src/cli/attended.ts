/**
 * Whether somebody can answer a question: found out at each start, and not remembered from the one before.
 *
 * - `here`: at this terminal, or the user says so (`--attended`).
 * - `away`: nobody is here, but `segno answer` and the page still reach the run, so what must be asked is asked.
 * - `never`: the user says so (`--unattended`), or it is a CI machine: what counts when nobody answers counts at once.
 */
import type { Config } from "../config/schema.js";
import { isTerminal } from "./ask.js";

export type Attended = "here" | "away" | "never";

export interface AttendedFlags {
  json?: boolean;
  attended?: boolean;
  unattended?: boolean;
}

export function attendedBy(flags: AttendedFlags): Attended {
  if (flags.unattended === true) return "never";
  if (flags.attended === true || process.env.SEGNO_ATTENDED === "1") return "here";
  if (/^(1|true)$/i.test(process.env.CI ?? "")) return "never";
  return isTerminal(flags.json === true) ? "here" : "away";
}

/** Where nobody ever answers, nothing waits for it. */
export const configFor = (attended: Attended, config: Config): Config =>
  attended === "never" ? { ...config, ask_timeout_minutes: 0 } : config;
