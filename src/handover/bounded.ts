/** Lists and texts that stay small, and say what they left out. */

/** A rough count for our own texts: prose of the models in use has between 2.7 and 3.9 characters a token. */
export const roughTokens = (text: string): number => Math.ceil(text.length / 3);

export function bulletList(items: readonly string[], most: number, chars = 240): string {
  const shown = items.slice(0, most).map((item) => `- ${clip(item, chars)}`);
  const left = items.length - shown.length;
  return [...shown, ...(left > 0 ? [`- … and ${left} more`] : [])].join("\n");
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
