/** When a session is handed over. */
import type { Reading } from "./reading.js";

/** Room a checkpoint's question and answer need. */
export const CHECKPOINT_ROOM = 4_000;
/** One large tool result (the 99th percentile of public sessions). */
export const LARGE_RESULT = 8_700;

export interface ContextSettings {
  context_threshold: number;
  max_restarts: number;
}

/** Whether handovers happen at all: where they do not, compaction is the agent's own business. */
export const handoversOn = (settings: ContextSettings): boolean =>
  settings.context_threshold < 100 && settings.max_restarts > 0;

/** Tokens at which to hand over: the user's threshold, but never later than the agent's own compaction allows. */
export function thresholdTokens(settings: ContextSettings, window: number, compactAt: number | undefined): number {
  const wanted = (window * settings.context_threshold) / 100;
  if (compactAt === undefined) return wanted;
  return Math.min(wanted, Math.max(compactAt - CHECKPOINT_ROOM - LARGE_RESULT, compactAt / 2));
}

export type BoundaryDecision = { go: true } | { go: false; why: "context" | "window-too-small" };

export interface BoundaryView {
  reading: Reading;
  /** The prompt of the session's first call: what Segno and the agent need before any work. */
  firstPrompt: number | undefined;
  compactAt: number | undefined;
}

export function decideBoundary(settings: ContextSettings, view: BoundaryView): BoundaryDecision {
  if (!handoversOn(settings)) return { go: true };
  const threshold = thresholdTokens(settings, view.reading.window, view.compactAt);
  if (view.firstPrompt !== undefined && view.firstPrompt >= threshold) return { go: false, why: "window-too-small" };
  if (view.reading.source === "unknown") return { go: true };
  return view.reading.tokens >= threshold ? { go: false, why: "context" } : { go: true };
}
