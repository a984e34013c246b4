/** How full the windows of a run's sessions were: a bounded number of readings each, to be drawn. */
import { type HardSettings, handoversOn, thresholdTokens } from "../context/policy.js";
import type { FactOf, RunEvent } from "../run/event.js";

export interface BoardSession {
  id: string;
  phase: string;
  purpose: string;
  agent: string | undefined;
  model: string | undefined;
  startedAt: string;
  endedAt: string | undefined;
  reason: string | undefined;
  window: number;
  /** In tokens: where it is handed over, and from where at a natural boundary; 0 where it is not. */
  hard: number;
  soft: number;
  tokens: number;
  peak: number;
  calls: number;
  /** Readings: seconds since the run began and tokens, one after the other. */
  points: number[];
  /** Every how many readings one is kept. */
  step: number;
  seen: number;
}

/** What the run's configuration says of when a session is handed over. */
export interface Rules {
  /** Undefined: it is not handed over. */
  hard: HardSettings | undefined;
  soft: number | undefined;
}

export function rulesOf(config: FactOf<"run-started">["config"]): Rules {
  const handsOver = handoversOn(config);
  return {
    hard: handsOver
      ? { context_threshold: config.context_threshold, context_max_tokens: config.context_max_tokens ?? "off" }
      : undefined,
    soft: handsOver && typeof config.context_soft === "number" ? config.context_soft : undefined,
  };
}

const MOST_POINTS = 300;

export const newSession = (event: FactOf<"session-started"> & RunEvent): BoardSession => ({
  id: event.session,
  phase: event.phase,
  purpose: event.purpose,
  agent: event.agent,
  model: undefined,
  startedAt: event.at,
  endedAt: undefined,
  reason: undefined,
  window: 0,
  hard: 0,
  soft: 0,
  tokens: 0,
  peak: 0,
  calls: 0,
  points: [],
  step: 1,
  seen: 0,
});

export function windowOf(
  rules: Rules,
  session: BoardSession,
  { window, whole = window, compactAt }: { window: number; whole?: number | undefined; compactAt?: number | undefined },
): void {
  session.window = window;
  session.hard =
    rules.hard === undefined
      ? window
      : Math.round(thresholdTokens(rules.hard, { window, whole, compactAt, reserve: 0 }));
  session.soft = rules.soft === undefined ? 0 : Math.round((window * rules.soft) / 100);
}

/** Keeps a bounded number of readings, evenly over the session, and always the newest. */
export function addReading(session: BoardSession, begun: string, at: string, tokens: number): void {
  session.tokens = tokens;
  session.peak = Math.max(session.peak, tokens);
  const seconds = Math.round((Date.parse(at) - Date.parse(begun)) / 100) / 10;
  const { points } = session;
  // The last point is provisional until the next one that is kept.
  if (session.seen % session.step !== 0) points.splice(-2);
  session.seen++;
  points.push(seconds, tokens);
  if (points.length <= MOST_POINTS * 2) return;
  session.step *= 2;
  session.points = points.filter((_, index) => (index >> 1) % 2 === 0 || index >= points.length - 2);
}

export const percentOf = ({ tokens, window }: Pick<BoardSession, "tokens" | "window">): number =>
  window === 0 ? 0 : Math.round((tokens / window) * 100);
