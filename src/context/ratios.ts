/**
 * Characters per token by kind of content and generation of models, fitted by `bench/fit.mjs` on 16,030 and 4,142 calls of
 * two thirds of 501 public sessions; the rest is held out, and what is published is the error there. A session's own factor
 * corrects them from its first calls on.
 */
export const KINDS = [
  "user",
  "read",
  "bash",
  "grep",
  "edit",
  "agent",
  "web",
  "mcp",
  "other",
  "attachment",
  "meta",
  "summary",
] as const;
export type ContentKind = (typeof KINDS)[number];

export interface Ratios {
  chars: Record<ContentKind, number>;
  /** What the framing of one tool result costs. */
  perResult: number;
  perImage: number;
  /** For calls whose output count is only a placeholder. */
  output: { text: number; thinking: number; toolInput: number; perToolCall: number };
}

const UP_TO_46: Ratios = {
  chars: {
    user: 2.58,
    read: 2.89,
    bash: 2.79,
    grep: 2.75,
    edit: 2.85,
    agent: 3.41,
    web: 3.93,
    mcp: 3.0,
    other: 3.63,
    attachment: 4.53,
    meta: 3.7,
    summary: 3.19,
  },
  perResult: 23,
  perImage: 600,
  output: { text: 3.65, thinking: 3.09, toolInput: 2.99, perToolCall: 59 },
};

const LATER: Ratios = {
  chars: {
    user: 2.35,
    read: 2.19,
    bash: 2.16,
    grep: 2.18,
    edit: 2.87,
    agent: 2.52,
    web: 2.46,
    mcp: 2.38,
    other: 2.15,
    attachment: 2.48,
    meta: 2.71,
    summary: 2.38,
  },
  perResult: 12,
  perImage: 600,
  output: { text: 2.7, thinking: 2.2, toolInput: 2.2, perToolCall: 60 },
};

/** Opus 4.7 and everything after it has the newer tokenizer. */
export function ratiosFor(model: string): Ratios {
  const version = /-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model);
  const generation = version === null ? 0 : Number(version[1]) + Number(version[2] ?? 0) / 10;
  return generation > 4.65 ? LATER : UP_TO_46;
}
