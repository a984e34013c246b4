/** `answer`: what a run asks, read and answered from any terminal in the repository. */
import { findInterrupted } from "../../engine/interrupted.js";
import { answerQuestion } from "../../engine/questions.js";
import { appendToRun, readRun } from "../../engine/resume.js";
import { choiceOf, openQuestions, type Question } from "../../run/questions.js";
import { answerWith } from "../../view/asked.js";
import { EXIT } from "../exit.js";
import { runNamed } from "../found-run.js";
import { printAsked } from "../print-asked.js";
import { printFailure } from "../print-failure.js";
import { storeHere } from "../store-here.js";
import { repositoryTop } from "../top.js";
import { askAndSay, liveRun, say } from "./steer.js";

/** `[RUN] [NUMBER] CHOICE`; one word is always a choice, none shows what is asked. */
export async function answerCommand(words: string[], flags: { json?: boolean }): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const { store, away } = await storeHere(top.value, flags);
  const [first] = words;
  const named = words.length > 1 && first !== undefined ? runNamed(await store.list(), first) : undefined;
  const rest = named?.ok === true ? words.slice(1) : words;
  if (rest.length > 2) return say(json, false, "Answer with: segno answer [RUN] [NUMBER] CHOICE");
  const live = await liveRun(store);
  const run =
    named?.ok === true ? named.value : (live ?? (await findInterrupted(store, { top: top.value }, new Date()))?.run);
  if (run === undefined && away !== undefined) return printFailure(away, json);
  if (run === undefined) return say(json, false, "No run is in progress or interrupted here, so nothing is asked.");
  const read = await readRun(store, run);
  if (!read.ok) return printFailure(read.failure, json);
  const open = openQuestions(read.value.state);
  if (rest.length === 0) return show(run, open, json);
  const meant = questionMeant(open, rest);
  if (typeof meant === "string") return say(json, false, meant);
  const { question, answer } = meant;
  if (live === run) return askAndSay(store, live, "answer", { question: question.id, answer }, json);
  const said = await appendToRun(store, run, (held) => answerQuestion(held, question.id, answer, "segno answer"));
  if (!said.ok) return printFailure(said.failure, json);
  return typeof said.value === "string" ? say(json, true, said.value) : say(json, false, said.value.missing);
}

function questionMeant(
  open: readonly Question[],
  words: readonly string[],
): { question: Question; answer: string } | string {
  const [answer = "", which] = words.toReversed();
  if (open.length === 0) return "Nothing is asked now.";
  if (which !== undefined) {
    const question = /^\d+$/.test(which) ? open[Number(which) - 1] : open.find(({ id }) => id === which);
    if (question !== undefined) return { question, answer };
    return `There is no open question ${which}; there ${open.length === 1 ? "is one" : `are ${open.length}`}: segno answer shows them.`;
  }
  const having = open.filter((question) => choiceOf(question, answer) !== undefined);
  const [only] = having;
  if (only !== undefined && having.length === 1) return { question: only, answer };
  if (having.length > 1)
    return `${having.length} open questions have the answer ${answer}; say which: ${having.map((each) => answerWith(answer, { n: open.indexOf(each) + 1, of: open.length })).join(", or ")}`;
  const known = open.map(({ choices }, index) => `${index + 1}: ${choices.map(({ name }) => name).join(", ")}`);
  return `"${answer}" is no answer to what is asked (${known.join("; ")}).`;
}

function show(run: string, open: readonly Question[], json: boolean): number {
  const of = open.length;
  if (json) {
    const questions = open.map(({ answer: _, ...question }, index) => ({ number: index + 1, ...question }));
    console.log(JSON.stringify({ run, questions }));
    return EXIT.done;
  }
  if (of === 0) console.log(`Run ${run} asks nothing now.`);
  for (const [index, question] of open.entries()) printAsked(question, { n: index + 1, of });
  return EXIT.done;
}
