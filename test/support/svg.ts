/** A terminal's screen as a picture. */
import type { Terminal } from "@xterm/headless";

const WIDTH = 8.4;
const HEIGHT = 18;
const PAPER = "#12151c";
const INK = "#e6e9f0";
const COLOURS = ["#333b4a", "#ff8f86", "#6fd28e", "#e8b75a", "#8db4ff", "#d7a6ff", "#7fd6e8", "#e6e9f0", "#78829a"];

const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

interface Run {
  x: number;
  text: string;
  colour: string;
  bold: boolean;
  inverse: boolean;
}

function runsOf(terminal: Terminal, row: number): Run[] {
  const { active } = terminal.buffer;
  const line = active.getLine(active.viewportY + row);
  const runs: Run[] = [];
  for (let x = 0; x < terminal.cols; x++) {
    const cell = line?.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const inverse = cell.isInverse() !== 0;
    const own = cell.isFgDefault() ? INK : (COLOURS[Math.min(8, cell.getFgColor())] ?? INK);
    const colour = inverse ? PAPER : cell.isDim() !== 0 ? "#8a94a8" : own;
    const bold = cell.isBold() !== 0;
    const text = cell.getChars() || " ";
    const last = runs.at(-1);
    if (last !== undefined && last.colour === colour && last.bold === bold && last.inverse === inverse)
      last.text += text;
    else runs.push({ x, text, colour, bold, inverse });
  }
  return runs;
}

export function svgOf(terminal: Terminal): string {
  const [width, height] = [terminal.cols * WIDTH + 24, terminal.rows * HEIGHT + 20];
  const lines = Array.from({ length: terminal.rows }, (_, row) =>
    runsOf(terminal, row)
      .map(({ x, text, colour, bold, inverse }) => {
        const [left, top] = [12 + x * WIDTH, 10 + row * HEIGHT];
        const length = [...text].length * WIDTH;
        const back = inverse ? `<rect x="${left}" y="${top}" width="${length}" height="${HEIGHT}" fill="${INK}"/>` : "";
        if (text.trim() === "") return back;
        return `${back}<text x="${left}" y="${top + 13.5}" fill="${colour}"${bold ? ' font-weight="bold"' : ""} textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escapeText(text)}</text>`;
      })
      .join(""),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
<rect width="${width}" height="${height}" rx="8" fill="${PAPER}"/>
${lines.join("\n")}
</svg>
`;
}
