/** The command line of an ACP agent, as the user wrote it, in words: no shell reads it. */

/** What stands before the command where an agent is named. */
export const ACP = "acp:";

/** Words as a shell would split them: quotes and backslashes keep spaces. Undefined where a quote is not closed. */
export function wordsIn(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (quote === "'" ? false : char === "\\" && at + 1 < text.length) word = (word ?? "") + text[++at];
    else if (quote !== undefined) {
      if (char === quote) quote = undefined;
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  if (quote !== undefined) return undefined;
  return word === undefined ? words : [...words, word];
}
