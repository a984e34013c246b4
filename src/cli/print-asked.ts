/** A question as a person reads it, with how to answer it. */
import type { Question } from "../run/questions.js";
import { answerWith, askedLines } from "../view/asked.js";

export function printAsked(
  question: Omit<Question, "answer" | "kind" | "session">,
  place: { n: number; of: number },
): void {
  const width = process.stdout.columns ?? 80;
  const { text, choices, fallback } = askedLines({ ...question, choices: [...question.choices] }, place, width);
  const example = answerWith(question.choices[0]?.name ?? "CHOICE", place);
  console.log(`\n${[...text, ...choices, fallback, `  answer with: ${example}`].join("\n")}`);
}
