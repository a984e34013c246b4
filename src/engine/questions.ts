/** Answers to what a run asks, from a terminal, a command or a page. */
import { choiceOf, openQuestions } from "../run/questions.js";
import type { LiveRun } from "./live-run.js";

/** `question`: its id, or undefined where only one is open. */
export async function answerQuestion(
  run: LiveRun,
  question: string | undefined,
  answer: string,
  by: string,
): Promise<string | { missing: string }> {
  const open = openQuestions(run.state);
  if (open.length === 0) return { missing: "The run asks nothing now." };
  const asked =
    question === undefined ? (open.length === 1 ? open[0] : undefined) : open.find(({ id }) => id === question);
  if (asked === undefined) {
    const ids = open.map(({ id }) => id).join(", ");
    return {
      missing:
        question === undefined
          ? `Several questions are open, name one: ${ids}`
          : `There is no open question ${question}; open: ${ids}`,
    };
  }
  const choice = choiceOf(asked, answer);
  if (choice === undefined) {
    const names = asked.choices.map(({ key, name }) => `${key} (${name})`).join(", ");
    return { missing: `"${answer}" is no answer to ${asked.id}. Answers: ${names}` };
  }
  await run.record({ type: "question-answered", question: asked.id, phase: asked.phase, choice: choice.name, by });
  return `Answered ${asked.id}: ${choice.name}, ${choice.meaning}.`;
}
