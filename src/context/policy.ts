/** When a session is handed over, and why. */
import { type Economy, weighHandover } from "./economy.js";
import type { Reading } from "./reading.js";

/** Room a checkpoint's question and answer need. */
export const CHECKPOINT_ROOM = 4_000;
/** One large tool result (the 99th percentile of public sessions). */
export const LARGE_RESULT = 8_700;

/** What 80 % of a window of 200,000 is. In windows of a million longer sessions only cost more (`bench/economy`). */
export const DEFAULT_CAP = 160_000;

export const POLICIES = ["restart", "ask", "observe", "stop"] as const;
export type ContextPolicy = (typeof POLICIES)[number];

export interface ContextSettings {
  context_policy: ContextPolicy;
  context_soft: number | "auto" | "off";
  context_threshold: number;
  context_max_tokens: number | "off";
  max_restarts: number;
  tool_call_threshold: number;
}

/** Whether handovers happen at all: where they do not, compaction is the agent's own business. */
export const handoversOn = (settings: Pick<ContextSettings, "context_policy" | "context_threshold" | "max_restarts">) =>
  settings.context_policy !== "observe" && settings.context_threshold < 100 && settings.max_restarts > 0;

/** What the agent itself does at which size; `compactAt` is unknown where it does not compact. */
export interface Limits {
  /** What thresholds are percentages of: no more than `context_limit`. */
  window: number;
  /** All that the model takes. */
  whole: number;
  compactAt: number | undefined;
  /** Room for one large tool result, as this session knows them. */
  reserve: number;
}

/** The last size at which a checkpoint can still be asked for: before the agent compacts, or the model's window ends. */
function lastSafe({ whole, compactAt, reserve }: Limits): number {
  const end = Math.min(compactAt ?? whole, whole);
  return Math.max(end - CHECKPOINT_ROOM - Math.max(LARGE_RESULT, reserve), end / 2);
}

export type HardSettings = Pick<ContextSettings, "context_threshold" | "context_max_tokens">;

export interface HandoverPoint {
  /** A session of this size is handed over, whatever it is doing. */
  tokens: number;
  /** Which of them is the smallest: the threshold, the cap, or what the agent leaves room for. */
  rule: "threshold" | "cap" | "agent";
}

/** A session that begins near the cap gets on a little before it is handed over: a quarter of the cap. */
export const capFor = (cap: number, firstPrompt: number): number => Math.max(cap, firstPrompt + cap / 4);

/** Where a session is handed over at the latest: what the user said, but never later than the agent allows. */
export function handoverPoint(settings: HardSettings, limits: Limits, firstPrompt = 0): HandoverPoint {
  const { context_threshold, context_max_tokens } = settings;
  const cap =
    typeof context_max_tokens === "number" ? capFor(context_max_tokens, firstPrompt) : Number.POSITIVE_INFINITY;
  const points: HandoverPoint[] = [
    { rule: "threshold", tokens: (limits.window * context_threshold) / 100 },
    { rule: "cap", tokens: cap },
    { rule: "agent", tokens: lastSafe(limits) },
  ];
  return points.reduce((least, point) => (point.tokens < least.tokens ? point : least));
}

export const thresholdTokens = (settings: HardSettings, limits: Limits): number =>
  handoverPoint(settings, limits).tokens;

/** What a window of this size means where nothing more is known of it. */
export const limitsOf = (window: number, compactAt?: number | undefined): Limits => ({
  window,
  whole: window,
  compactAt,
  reserve: 0,
});

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
  /** Whether this session finished a task, or, in a phase without tasks, a step: more often nobody is handed over to save. */
  gotOn: boolean;
  toolCalls: number;
  economy: Economy;
  /** The user said "continue" when asked: no question again, and the handover comes at the compaction point. */
  continued: boolean;
}

/** Which rule ended the session. */
export type Rule = "window-too-small" | "threshold" | "cap" | "agent" | "forecast" | "soft" | "economy" | "tool-calls";

export type BoundaryDecision =
  | { go: true }
  | { go: false; act: "hand-over" | "ask" | "stop" | "fail"; rule: Rule; threshold: number; reason: string };

export function decideBoundary(settings: ContextSettings, view: BoundaryView): BoundaryDecision {
  if (!handoversOn(settings)) return { go: true };
  const { reading, limits, continued } = view;
  const hard: HandoverPoint = continued
    ? { rule: "agent", tokens: lastSafe(limits) }
    : handoverPoint(settings, limits, view.firstPrompt);
  const crossed = crossedRule(settings, view, hard);
  if (crossed === undefined) return { go: true };
  const { rule, reason, threshold = hard.tokens } = crossed;
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

function crossedRule(settings: ContextSettings, view: BoundaryView, hard: HandoverPoint): Crossed | undefined {
  const { reading, limits, firstPrompt, growth, toolCalls } = view;
  const { tokens, window } = reading;
  if (firstPrompt !== undefined && firstPrompt >= hard.tokens) {
    return {
      rule: "window-too-small",
      reason: `the first prompt alone has ${firstPrompt} of ${Math.round(hard.tokens)} tokens`,
    };
  }
  if (reading.source === "unknown") return undefined;
  if (reading.source === "estimated" && toolCalls >= settings.tool_call_threshold) {
    return { rule: "tool-calls", reason: `${toolCalls} tool calls, and the agent reports no usage` };
  }
  if (tokens >= hard.tokens)
    return {
      rule: hard.rule,
      reason: `${tokens} tokens are at or above ${HARD_WORDS[hard.rule]} ${Math.round(hard.tokens)}`,
    };
  const { compactAt = limits.whole } = limits;
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

const HARD_WORDS: Record<HandoverPoint["rule"], string> = {
  threshold: "the threshold of",
  cap: "the cap (context_max_tokens) of",
  agent: "what the agent leaves room for,",
};

function crossedSoftly({ context_soft }: ContextSettings, view: BoundaryView): Crossed | undefined {
  const { natural, reading, firstPrompt = 0, economy } = view;
  if (context_soft === "off" || natural === undefined || !view.workLeft) return undefined;
  const { tokens, window } = reading;
  if (context_soft === "auto") {
    if (!view.gotOn) return undefined;
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
