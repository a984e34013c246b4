/** What a run asks, put to the person at this terminal. Elsewhere `segno answer` answers. */
import { createInterface } from "node:readline/promises";
import type { World } from "../engine/world.js";
import type { RunEvent } from "../run/event.js";
import { choiceOf } from "../run/question.js";
import { isTerminal } from "./ask.js";

export function askAtTerminal({ run }: World, json: boolean): void {
  if (!isTerminal(json)) return;
  const asking = new Map<string, AbortController>();
  const ask = async ({ question: id, phase, choices, fallback }: Extract<RunEvent, { type: "question-asked" }>) => {
    const gone = new AbortController();
    asking.set(id, gone);
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    // Ctrl-C at a question is meant for the run.
    terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    try {
      const keys = choices.map(({ key }) => key).join("/");
      const answer = await terminal.question(`[${keys}] > `, { signal: gone.signal });
      const choice = choiceOf({ choices }, answer)?.name ?? fallback;
      const by = choiceOf({ choices }, answer) === undefined ? `"${answer}" is no answer` : "at the terminal";
      if (run.state.questions.get(id)?.answer === undefined)
        run.append({ type: "question-answered", question: id, phase, choice, by });
    } catch {
      // Answered elsewhere, or too late.
    } finally {
      terminal.close();
      asking.delete(id);
    }
  };
  run.onEvent((event) => {
    if (event.type === "question-asked") void ask(event);
    if (event.type === "question-answered") asking.get(event.question)?.abort();
    if (event.type === "stop-requested") for (const gone of asking.values()) gone.abort();
  });
}
