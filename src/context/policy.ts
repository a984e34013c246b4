/** When a session is handed over, and why. */
import { type Economy, weighHandover } from "./economy.js";
import type { Reading } from "./reading.js";

/** Room a checkpoint's question and answer need. */
export const CHECKPOINT_ROOM = 4_000;
/** One large tool result (the 99th percentile of public sessions). */
export const LARGE_RESULT = 8_700;

export const POLICIES = ["restart", "ask", "observe", "stop"] as const;
export type ContextPolicy = (typeof POLICIES)[number];

export interface ContextSettings {
  context_policy: ContextPolicy;
  context_soft: number | "auto";
  context_threshold: number;
  max_restarts: number;
  tool_call_threshold: number;
}

/** Whether handovers happen at all: where they do not, compaction is the agent's own business. */
export const handoversOn = (settings: Pick<ContextSettings, "context_policy" | "context_threshold" | "max_restarts">) =>
  settings.context_policy !== "observe" && settings.context_threshold < 100 && settings.max_restarts > 0;

/** What the agent itself does at which size; `compactAt` is unknown where it does not compact. */
export interface Limits {
  window: number;
  compactAt: number | undefined;
  /** Room for one large tool result, as this session knows them. */
  reserve: number;
}

/** The last size at which a checkpoint can still be asked for without the agent compacting first. */
function lastSafe({ window, compactAt, reserve }: Limits): number {
  const end = compactAt ?? window;
  return Math.max(end - CHECKPOINT_ROOM - Math.max(LARGE_RESULT, reserve), end / 2);
}

/** Tokens at which to hand over: the user's threshold, but never later than the agent's own compaction allows. */
export function thresholdTokens(settings: Pick<ContextSettings, "context_threshold">, limits: Limits): number {
  const wanted = (limits.window * settings.context_threshold) / 100;
  return limits.compactAt === undefined ? wanted : Math.min(wanted, lastSafe(limits));
}

/** What makes a boundary a natural one. */
export type NaturalBoundary = "task" | "commit" | "gate";

export interface BoundaryView {
  reading: Reading;
  limits: Limits;
  /** The prompt of the session's first call: what Segno and the agent need before any work. */
  firstPrompt: number | undefined;
  /** What the next call may add, from the recent ones. */
  growth: number;
  natural: NaturalBoundary | undefined;
  /** Whether tasks of the phase are left: without, a session that is not full may as well end it. */
  workLeft: boolean;
  toolCalls: number;
  economy: Economy;
  /** The user said "continue" when asked: no question again, and the handover comes at the compaction point. */
  continued: boolean;
}

/** Which rule ended the session. */
export type Rule = "window-too-small" | "threshold" | "forecast" | "soft" | "economy" | "tool-calls";

export type BoundaryDecision =
  | { go: true }
  | { go: false; act: "hand-over" | "ask" | "stop" | "fail"; rule: Rule; threshold: number; reason: string };

export function decideBoundary(settings: ContextSettings, view: BoundaryView): BoundaryDecision {
  if (!handoversOn(settings)) return { go: true };
  const { reading, limits, continued } = view;
  const hard = continued ? lastSafe(limits) : thresholdTokens(settings, limits);
  const crossed = crossedRule(settings, view, hard);
  if (crossed === undefined) return { go: true };
  const { rule, reason, threshold = hard } = crossed;
  const act =
    rule === "window-too-small"
      ? "fail"
      : settings.context_policy === "stop"
        ? "stop"
        : settings.context_policy === "ask" && !continued
          ? "ask"
          : "hand-over";
  return { go: false, act, rule, threshold: Math.round(threshold), reason: `${reason}${marginOf(reading)}` };
}

interface Crossed {
  rule: Rule;
  reason: string;
  threshold?: number;
}

function crossedRule(settings: ContextSettings, view: BoundaryView, hard: number): Crossed | undefined {
  const { reading, limits, firstPrompt, growth, toolCalls } = view;
  const { tokens, window } = reading;
  if (firstPrompt !== undefined && firstPrompt >= hard) {
    return {
      rule: "window-too-small",
      reason: `the first prompt alone has ${firstPrompt} of ${Math.round(hard)} tokens`,
    };
  }
  if (reading.source === "unknown") return undefined;
  if (reading.source === "estimated" && toolCalls >= settings.tool_call_threshold) {
    return { rule: "tool-calls", reason: `${toolCalls} tool calls, and the agent reports no usage` };
  }
  if (tokens >= hard) {
    return { rule: "threshold", reason: `${tokens} tokens are at or above the threshold of ${Math.round(hard)}` };
  }
  const { compactAt = window } = limits;
  const end = (view.continued ? compactAt : Math.min(window, compactAt)) - CHECKPOINT_ROOM;
  if (growth > 0 && tokens + growth >= end) {
    return {
      rule: "forecast",
      reason: `${tokens} tokens and another ${Math.round(growth)}, as a recent call added, would cross ${end}`,
      threshold: end - growth,
    };
  }
  return settings.context_policy === "restart" ? crossedSoftly(settings, view) : undefined;
}

function crossedSoftly({ context_soft }: ContextSettings, view: BoundaryView): Crossed | undefined {
  const { natural, reading, firstPrompt = 0, economy } = view;
  if (natural === undefined || !view.workLeft) return undefined;
  const { tokens, window } = reading;
  if (context_soft === "auto") {
    const { worth, reason } = weighHandover(tokens, firstPrompt, economy);
    return worth
      ? { rule: "economy", reason: `${BOUNDARY_WORDS[natural]}, and ${reason}`, threshold: tokens }
      : undefined;
  }
  const soft = (window * context_soft) / 100;
  // Where a session begins above it, a soft threshold would end it after every task.
  if (tokens < soft || firstPrompt >= soft) return undefined;
  return {
    rule: "soft",
    reason: `${BOUNDARY_WORDS[natural]}, and ${tokens} tokens are at or above the soft threshold of ${Math.round(soft)}`,
    threshold: soft,
  };
}

const BOUNDARY_WORDS: Record<NaturalBoundary, string> = {
  task: "a task was reported done",
  commit: "a commit was made",
  gate: "a gate's command passed",
};

const marginOf = ({ source, margin }: Reading): string => (source === "exact" ? "" : ` (± ${margin}, ${source})`);

/** Levels of `context_warn` that this reading has reached and that were not warned of yet. */
export const newWarnings = (levels: readonly number[], warned: ReadonlySet<number>, { percent }: Reading): number[] =>
  levels.filter((level) => percent >= level && !warned.has(level));
