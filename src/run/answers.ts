/** What an answer means, one entry per kind of question. Those without one are read where they were asked. */
import { answeredFailure } from "./ending.js";
import type { FactOf, RunEvent } from "./event.js";
import type { Folding } from "./folding.js";
import { retryMerge } from "./merging.js";
import { changeAttempt, revise } from "./phase.js";
import type { Question, QuestionKind } from "./questions.js";
import { changeSession } from "./session.js";

type Meaning = (state: Folding, question: Question, choice: string, at: string) => void;

const stops = (state: Folding): void => {
  state.stopping ??= { by: "an answer", cause: "asked" };
};

const onContext: Meaning = (state, { session }, choice) => {
  if (choice === "stop") stops(state);
  else if (choice === "force") state.contextAnswer = "force";
  else if (choice === "rest") state.contextAnswer = "continue";
  // Only this session: the next one that crosses asks again.
  else if (session !== undefined) changeSession(state, { session }, (crossed) => ({ ...crossed, continued: true }));
};

const MEANINGS: Record<QuestionKind, Meaning> = {
  context: onContext,
  "before-phase": onContext,
  checkpoint: (state, _, choice) => {
    if (choice === "stop") stops(state);
  },
  head: (state, _, choice) => {
    if (choice === "stop") stops(state);
    else state.head = state.headMoved ?? state.head;
    state.headMoved = undefined;
  },
  failure: (state, { phase }, choice, at) => {
    if (choice === "abort") stops(state);
    else answeredFailure(state, phase, choice, at);
  },
  split: (state, { phase }, choice) => {
    if (choice !== "split") changeAttempt(state, phase, (attempt) => revise(attempt, "split", { refused: true }));
  },
  merge: (state, { phase }, choice) => {
    if (choice === "retry") changeAttempt(state, phase, retryMerge);
  },
  gate: () => {},
  verify: () => {},
};

export function questionAnswered(
  state: Folding,
  { question: id, choice, by, at }: FactOf<"question-answered"> & RunEvent,
): void {
  const question = state.questions.get(id);
  if (question === undefined || question.answer !== undefined) return;
  state.questions.set(id, { ...question, answer: { choice, by } });
  MEANINGS[question.kind](state, question, choice, at);
}
