/**
 * Where a large document can be cut so that its pieces read as they do in the whole: before headings at the beginning of
 * a line, after a blank one, outside of code. The Markdown library takes more than twice as long for twice as much.
 */
export interface Piece {
  start: number;
  /** Lines before it. */
  line: number;
}

/** What means something beyond the place where it stands: definitions, and HTML that ends only where it says so. */
const FAR_REACHING = /^ {0,3}\[[^\]\n]+\]:|<!--|<\?|<![A-Z[]|<(script|pre|style|textarea)\b/im;
const HEADING = /^#{1,6}(?=[ \t]|$)/;
const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;

/** Pieces of at least this size; undefined where the document is better left whole. */
export function piecesOf(source: string, least: number): Piece[] | undefined {
  // A mark of the byte order counts, or does not, by where it stands.
  if (FAR_REACHING.test(source) || source.includes("\uFEFF")) return undefined;
  const pieces: Piece[] = [{ start: 0, line: 0 }];
  let fence: Fence;
  let afterBlank = true;
  let line = 0;
  for (const { text, start } of linesOf(source)) {
    const last = pieces.at(-1) as Piece;
    if (fence === undefined && afterBlank && start - last.start >= least && HEADING.test(text))
      pieces.push({ start, line });
    // One in a list ends with its item: whether that was meant, nobody can tell here.
    if (fence !== undefined && text.trim() !== "" && indentOf(text) < fence.indent) return undefined;
    fence = fenceAfter(fence, text);
    afterBlank = text.trim() === "";
    line++;
  }
  return pieces;
}

function* linesOf(source: string): Generator<{ text: string; start: number }> {
  let start = 0;
  for (const { index, 0: end } of source.matchAll(/\r\n|\n|\r/g)) {
    yield { text: source.slice(start, index), start };
    start = index + end.length;
  }
  yield { text: source.slice(start), start };
}

type Fence = { mark: string; length: number; indent: number } | undefined;

const indentOf = (text: string): number => /^ */.exec(text)?.[0].length ?? 0;

function fenceAfter(open: Fence, text: string): Fence {
  const found = FENCE.exec(text);
  if (found === null) return open;
  const [, { length: indent } = "", marks = "", rest = ""] = found;
  const mark = marks[0] ?? "";
  if (open === undefined)
    return mark === "`" && rest.includes("`") ? undefined : { mark, length: marks.length, indent };
  const closes = mark === open.mark && marks.length >= open.length && rest.trim() === "";
  return closes ? undefined : open;
}
