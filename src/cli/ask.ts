/** Questions at a terminal; elsewhere nobody is asked. */
import { createInterface } from "node:readline/promises";

export const isTerminal = (json: boolean): boolean =>
  !json && process.stdin.isTTY === true && process.stdout.isTTY === true;

export const YES_NO = [
  { name: "yes", meaning: "yes" },
  { name: "no", meaning: "no" },
];

/** One of the choices, by its number or its name; undefined when the user just ends it. */
export async function askChoice(
  question: string,
  choices: readonly { name: string; meaning: string }[],
): Promise<string | undefined> {
  const lines = choices.map(({ name, meaning }, index) => `  ${index + 1}  ${name.padEnd(18)} ${meaning}`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C, or the end of the input, ends the question, and is the answer; closing alone would leave it open for ever.
  const over = new AbortController();
  terminal.on("SIGINT", () => over.abort());
  terminal.on("close", () => over.abort());
  try {
    console.log(`\n${question}\n\n${lines.join("\n")}\n`);
    for (let tries = 0; tries < 3; tries++) {
      const answer = (await terminal.question("> ", { signal: over.signal })).trim();
      const chosen = choices.find(({ name }, index) => answer === name || answer === String(index + 1));
      if (chosen !== undefined) return chosen.name;
      console.log(`Please answer with a number from 1 to ${choices.length}.`);
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    terminal.close();
  }
}
