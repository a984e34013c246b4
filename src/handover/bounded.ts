/** Lists and texts that stay small, and say what they left out. */

/** A rough count for our own texts: prose of the models in use has between 2.7 and 3.9 characters a token. */
export const roughTokens = (text: string): number => Math.ceil(text.length / 3);

export function bulletList(items: readonly string[], most: number, chars = 240): string {
  return listOf(items, most, chars, "first");
}

function listOf(items: readonly string[], most: number, chars: number, keep: "first" | "last"): string {
  const left = items.length - Math.min(most, items.length);
  const shown = keep === "first" ? items.slice(0, most) : items.slice(left);
  const lines = shown.map((item) => `- ${clip(item, chars)}`);
  const note = left > 0 ? [`- … and ${left} ${keep === "first" ? "more" : "older ones"}`] : [];
  return (keep === "first" ? [...lines, ...note] : [...note, ...lines]).join("\n");
}

export function clip(text: string, chars: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > chars ? `${line.slice(0, chars - 1)}…` : line;
}

/** The first and the last part of a long text. */
export function clipMiddle(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const half = Math.floor(chars / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`;
}

/** A part of a text that must stay small: words that are always there, a text and a list that may be cut. */
export interface Section {
  words: string;
  body?: string | undefined;
  items: readonly string[];
  /** Which end matters. */
  keep: "first" | "last";
  /** Never fewer than these. */
  least: number;
}

/** Of a line of a list; a text may have as many times more. */
const LENGTHS = [Number.POSITIVE_INFINITY, 2_000, 1_000, 500, 240, 160, 100, 60];
const LINES_OF_TEXT = 10;

/** Cuts the longest lists first, then the lines, until the whole is small enough: nothing else limits it. */
export function renderBounded(sections: readonly Section[], tokens: number): string {
  const shown = sections.filter(({ words, body = "", items }) => words !== "" || body !== "" || items.length > 0);
  for (const chars of LENGTHS) {
    const most = shown.map((section) => section.items.length);
    for (;;) {
      const parts = shown.map(({ words, body = "", items, keep }, index) =>
        [words, clipMiddle(body, chars * LINES_OF_TEXT), listOf(items, most[index] ?? 0, chars, keep)]
          .filter((part) => part !== "")
          .join("\n"),
      );
      const text = parts.join("\n\n");
      if (roughTokens(text) <= tokens) return text;
      const cuttable = shown.flatMap(({ least }, index) => ((most[index] ?? 0) > least ? [index] : []));
      const longest = cuttable.toSorted((a, b) => (parts[b]?.length ?? 0) - (parts[a]?.length ?? 0))[0];
      if (longest === undefined) {
        if (chars === LENGTHS.at(-1)) return text;
        break;
      }
      most[longest] = Math.max(shown[longest]?.least ?? 0, Math.floor((most[longest] ?? 0) * 0.7));
    }
  }
  return "";
}
