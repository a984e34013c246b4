/**
 * Questions to a person. Each holds a phase, not the run, and has an answer that counts when nobody gives one.
 *
 *   asked ─ answered by a person · nobody in time: the fallback ─▶ answered
 *     └─ its session ended, its phase was skipped, or the run was taken up again ─▶ gone (asked again where it still matters)
 *
 * What an answer means is in `answers.ts`, one entry per kind.
 */
import { conclude, type Decision } from "./decision.js";
import type { FactOf, RunEvent } from "./event.js";
import type { Folding } from "./folding.js";
import type { RunState } from "./state.js";

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

const CONTEXT: readonly Choice[] = [
  {
    key: "c",
    name: "continue",
    meaning: "go on; it may exceed the limit, and is handed over before the agent compacts",
  },
  { key: "s", name: "stop", meaning: "save a checkpoint and stop; `segno resume` goes on" },
  { key: "f", name: "force", meaning: "hand over to a fresh session now, and prune aggressively from here on" },
  { key: "r", name: "rest", meaning: "go on, and do not ask again for the rest of this run" },
];

const VERDICT: readonly Choice[] = [
  { key: "p", name: "pass", meaning: "it is as it should be" },
  { key: "f", name: "fail", meaning: "it is not: the agent repairs it" },
  { key: "l", name: "later", meaning: "leave the phase open; the next resume asks again" },
];

const FAILURE: readonly Choice[] = [
  { key: "r", name: "revise", meaning: "change the phase's text: it is tried again once that has changed" },
  { key: "c", name: "continue", meaning: "accept the phase as it is, marked as not verified" },
  { key: "s", name: "skip", meaning: "leave the phase out" },
  { key: "a", name: "abort", meaning: "stop the run" },
  { key: "l", name: "leave", meaning: "leave it failed, and go on with phases that do not depend on it" },
];

const MERGE: readonly Choice[] = [
  { key: "r", name: "retry", meaning: "let an agent try again (after you looked at the worktree, or changed it)" },
  { key: "l", name: "leave", meaning: "hold the phase back; everything that does not depend on it goes on" },
];

const SPLIT: readonly Choice[] = [
  { key: "s", name: "split", meaning: "into these sub-phases, at once" },
  { key: "w", name: "whole", meaning: "go on with the phase as it is" },
];

const GO_ON: readonly Choice[] = [
  { key: "c", name: "continue", meaning: "go on with the next phase" },
  { key: "s", name: "stop", meaning: "stop here; `segno resume` goes on" },
];

/** What can be answered, and what counts when nobody does (undefined: as `ask_default` says). */
const KINDS: Record<QuestionKind, { choices: readonly Choice[]; fallback: string | undefined }> = {
  context: { choices: CONTEXT, fallback: undefined },
  "before-phase": { choices: CONTEXT, fallback: undefined },
  gate: { choices: VERDICT, fallback: "later" },
  verify: { choices: VERDICT, fallback: "later" },
  failure: { choices: FAILURE, fallback: "leave" },
  checkpoint: { choices: GO_ON, fallback: "stop" },
  head: { choices: GO_ON, fallback: "stop" },
  merge: { choices: MERGE, fallback: "leave" },
  split: { choices: SPLIT, fallback: "whole" },
};

export interface Asking {
  kind: QuestionKind;
  id: string;
  phase: string;
  session?: string | undefined;
  text: string;
}

export type Asked =
  | { type: "asks"; decision: Decision }
  | { type: "waits" }
  | { type: "answered"; choice: string; by: string };

/** The only way to ask: asks once, then waits, then tells the answer. */
export function ask({ questions, config }: RunState, { kind, id, phase, session, text }: Asking): Asked {
  const known = questions.get(id);
  if (known !== undefined)
    return known.answer === undefined ? { type: "waits" } : { type: "answered", ...known.answer };
  const { choices, fallback = config.ask_default } = KINDS[kind];
  const { ask_timeout_minutes: minutes } = config;
  const fact = {
    type: "question-asked",
    question: id,
    kind,
    phase,
    session,
    text,
    choices,
    fallback,
    minutes,
  } as const;
  return { type: "asks", decision: conclude(fact) };
}

/** Part of the id of a question that is asked anew after each resume. */
export const anew = ({ resumes }: RunState): string => `e${resumes + 1}`;

/** What an answer means: a choice's name, its number or its key. */
export function choiceOf({ choices }: Pick<Question, "choices">, answer: string): Choice | undefined {
  const word = answer.trim().toLowerCase();
  return choices.find(({ key, name }, index) => word === key || word === name || word === String(index + 1));
}

/** Questions that wait for an answer. */
export const openQuestions = ({ questions }: Pick<RunState, "questions">): Question[] =>
  questions.size === 0 ? [] : [...questions.values()].filter((question) => question.answer === undefined);

/** Whether a person said, before the phase began or of this session, that it may go on above the threshold. */
export const mayGoOnAbove = (
  { questions, contextAnswer, sessions }: Pick<RunState, "questions" | "contextAnswer" | "sessions">,
  { phase, session }: { phase: string; session: string },
): boolean =>
  contextAnswer === "continue" ||
  sessions.get(session)?.continued === true ||
  [...questions.values()].some(
    (asked) => asked.kind === "before-phase" && asked.phase === phase && asked.answer?.choice === "continue",
  );

/** Nobody answered in time. */
export const answerOverdue = (state: RunState): Decision[] =>
  openQuestions(state)
    .filter((question) => question.until <= state.now)
    .map(({ id: question, phase, fallback: choice }) =>
      conclude({ type: "question-answered", question, phase, choice, by: "nobody answered in time" }),
    );

export function questionAsked(state: Folding, event: FactOf<"question-asked"> & RunEvent): void {
  const { question: id, kind, phase, session, text, choices, fallback, minutes } = event;
  const until = new Date(Date.parse(event.at) + minutes * 60_000).toISOString();
  state.questions.set(id, { id, kind, phase, session, text, choices, fallback, until, answer: undefined });
}

/** What was asked about a session is moot without it. */
export function dropQuestionsOf(state: Folding, session: string): void {
  for (const question of openQuestions(state)) if (question.session === session) state.questions.delete(question.id);
}

/** Whoever is left out is asked about no more. */
export function dropQuestionsAbout(state: Folding, phase: string): void {
  for (const question of openQuestions(state)) if (question.phase === phase) state.questions.delete(question.id);
}

/** What nobody answered is asked again where it still matters. */
export function dropOpenQuestions(state: Folding): void {
  for (const { id } of openQuestions(state)) state.questions.delete(id);
}

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
