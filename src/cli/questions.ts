/** What a run asks, put to the person at this terminal. Elsewhere `segno answer` answers. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import type { HeldRun } from "../engine/held-run.js";
import type { RunEvent } from "../run/event.js";
import { choiceOf } from "../run/questions.js";
import { isTerminal } from "./ask.js";

/** The phase's file in the user's editor; the retry reads what it holds then. */
export async function openEditor(file: string | undefined, top: string): Promise<void> {
  const editor = process.env.VISUAL ?? process.env.EDITOR;
  if (file === undefined || editor === undefined) {
    console.log(`Set EDITOR to have ${file ?? "the phase's file"} opened here; edit it now in another window.`);
    return;
  }
  const [program = editor, ...args] = editor.split(" ");
  await new Promise<void>((resolve) => {
    const child = spawn(program, [...args, join(top, file)], { stdio: "inherit" });
    child.on("exit", () => resolve());
    child.on("error", () => resolve());
  });
}

export function askAtTerminal({ run, top }: HeldRun, json: boolean): void {
  if (!isTerminal(json)) return;
  const asking = new Map<string, AbortController>();
  const isOpen = (id: string): boolean => {
    const question = run.state.questions.get(id);
    return question !== undefined && question.answer === undefined;
  };
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
      if (choice === "revise")
        await openEditor(run.state.plan.phases.find(({ id: known }) => known === phase)?.file, top);
      const by = choiceOf({ choices }, answer) === undefined ? `"${answer}" is no answer` : "at the terminal";
      if (isOpen(id)) await run.record({ type: "question-answered", question: id, phase, choice, by });
    } catch {
      // It is not to be answered here any more.
    } finally {
      terminal.close();
      asking.delete(id);
    }
  };
  run.onEvent((event) => {
    if (event.type === "question-asked") void ask(event);
    // Answered elsewhere, or moot.
    for (const [id, gone] of asking) if (event.type === "stop-requested" || !isOpen(id)) gone.abort();
  });
}
