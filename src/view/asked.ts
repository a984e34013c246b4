/** An open question, as lines: what is asked, what can be answered, and what counts when nobody does. */
import type { OpenQuestion } from "./status.js";
import { wrap } from "./wrap.js";

export interface AskedLines {
  text: string[];
  choices: string[];
  fallback: string;
}

/** `place`: which one of how many. */
export function askedLines(
  { phase, text, choices, fallback, until }: OpenQuestion,
  place: { n: number; of: number },
  width: number,
): AskedLines {
  const which = place.of > 1 ? `${place.n} of ${place.of}, ` : "";
  const indented = (first: string, rest: string, said: string): string[] =>
    wrap(said, width - first.length).map((line, index) => `${index === 0 ? first : rest}${line}`);
  return {
    text: indented("? ", "  ", `${which}phase ${phase}: ${text}`),
    choices: choices.flatMap(({ name, meaning }, index) => {
      const first = `  ${index + 1}  ${name.padEnd(9)} `;
      return indented(first, " ".repeat(first.length), meaning);
    }),
    fallback: `  when nobody answers: ${fallback}, at ${until.slice(11, 16)} UTC`,
  };
}

/** As it is answered from another terminal. */
export const answerWith = (choice: string, { n, of }: { n: number; of: number }): string =>
  `segno answer ${of > 1 ? `${n} ` : ""}${choice}`;
