/** Text over as many lines as it needs, none wider than this many columns. */
import { width as columns } from "./width.js";

export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(/\s+/)) {
      for (const part of pieces(word, width)) {
        const longer = line === "" ? part : `${line} ${part}`;
        if (columns(longer) <= width) line = longer;
        else {
          lines.push(line);
          line = part;
        }
      }
    }
    lines.push(line);
  }
  return lines;
}

/** A word that is wider than a line is cut. */
function pieces(word: string, width: number): string[] {
  if (columns(word) <= width) return [word];
  const parts: string[] = [];
  let part = "";
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    if (columns(part + segment) > width) {
      parts.push(part);
      part = "";
    }
    part += segment;
  }
  return [...parts, part];
}
