/**
 * Characters per token by kind of content and generation of models, fitted on 23,457 and 6,148 calls of public
 * sessions. A session's own factor corrects them from its first calls on.
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
    user: 3.35,
    read: 3.2,
    bash: 2.87,
    grep: 2.86,
    edit: 2.92,
    agent: 3.33,
    web: 3.68,
    mcp: 3.16,
    other: 3.3,
    attachment: 4.1,
    meta: 3.6,
    summary: 3.35,
  },
  perResult: 34,
  perImage: 600,
  output: { text: 3.69, thinking: 2.93, toolInput: 3.05, perToolCall: 72 },
};

const LATER: Ratios = {
  chars: {
    user: 2.38,
    read: 2.19,
    bash: 2.13,
    grep: 2.08,
    edit: 2.6,
    agent: 2.47,
    web: 2.53,
    mcp: 2.2,
    other: 2.13,
    attachment: 2.67,
    meta: 2.73,
    summary: 2.4,
  },
  perResult: 21,
  perImage: 600,
  output: { text: 2.7, thinking: 2.2, toolInput: 2.2, perToolCall: 60 },
};

/** Opus 4.7 and everything after it has the newer tokenizer. */
export function ratiosFor(model: string): Ratios {
  const version = /-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model);
  const generation = version === null ? 0 : Number(version[1]) + Number(version[2] ?? 0) / 10;
  return generation > 4.65 ? LATER : UP_TO_46;
}
