/** A question to a person. It holds a phase, not the run; every one has an answer that counts when nobody gives one. */
export interface Choice {
  key: string;
  name: string;
  meaning: string;
}

export type QuestionKind =
  | "context"
  | "before-phase"
  | "gate"
  | "verify"
  | "failure"
  | "checkpoint"
  | "head"
  | "merge"
  | "split";

export interface Question {
  id: string;
  kind: QuestionKind;
  phase: string;
  session: string | undefined;
  text: string;
  choices: readonly Choice[];
  /** The name of the choice that counts when nobody answers. */
  fallback: string;
  /** When it does. */
  until: string;
  answer: { choice: string; by: string } | undefined;
}

/** What an answer means: a choice's key or name. */
export const choiceOf = ({ choices }: Pick<Question, "choices">, answer: string): Choice | undefined =>
  choices.find(({ key, name }) => answer.trim().toLowerCase() === key || answer.trim().toLowerCase() === name);

export const CONTEXT_CHOICES: readonly Choice[] = [
  {
    key: "c",
    name: "continue",
    meaning: "go on; it may exceed the limit, and is handed over before the agent compacts",
  },
  { key: "s", name: "stop", meaning: "save a checkpoint and stop; `segno resume` goes on" },
  { key: "f", name: "force", meaning: "hand over to a fresh session now, and prune aggressively from here on" },
];

export const VERDICT_CHOICES: readonly Choice[] = [
  { key: "p", name: "pass", meaning: "it is as it should be" },
  { key: "f", name: "fail", meaning: "it is not: the agent repairs it" },
  { key: "l", name: "later", meaning: "leave the phase open; the next resume asks again" },
];

export const FAILURE_CHOICES: readonly Choice[] = [
  { key: "r", name: "revise", meaning: "change the phase's text, then try again" },
  { key: "c", name: "continue", meaning: "accept the phase as it is, marked as not verified" },
  { key: "s", name: "skip", meaning: "leave the phase out" },
  { key: "a", name: "abort", meaning: "stop the run" },
  { key: "l", name: "leave", meaning: "leave it failed, and go on with phases that do not depend on it" },
];

export const MERGE_CHOICES: readonly Choice[] = [
  { key: "r", name: "retry", meaning: "let an agent try again (after you looked at the worktree, or changed it)" },
  { key: "l", name: "leave", meaning: "hold the phase back; everything that does not depend on it goes on" },
];

export const SPLIT_CHOICES: readonly Choice[] = [
  { key: "s", name: "split", meaning: "into these sub-phases, at once" },
  { key: "w", name: "whole", meaning: "go on with the phase as it is" },
];

export const GO_ON_CHOICES: readonly Choice[] = [
  { key: "c", name: "continue", meaning: "go on with the next phase" },
  { key: "s", name: "stop", meaning: "stop here; `segno resume` goes on" },
];

export interface ContextQuestion {
  tokens: number;
  limit: number;
  phases: { done: number; total: number };
  /** Expected, before the phase has begun. */
  expected: boolean;
}

export function contextQuestionText(phase: string, { tokens, limit, phases, expected }: ContextQuestion): string {
  const percent = Math.round((tokens / limit) * 100);
  const where = expected
    ? `Phase ${phase} is expected to need ${percent} % of the context limit (${tokens} of ${limit} tokens).`
    : `Phase ${phase} has reached ${percent} % of the context limit (${tokens} of ${limit} tokens).`;
  return `${where} Phases completed: ${phases.done} of ${phases.total}, remaining: ${phases.total - phases.done}. Going on may exceed the limit.`;
}
