/** A run as one file that needs nothing else: the same page, with everything it would ask for in it. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Board } from "../view/board.js";
import { escapeHtml } from "../view/escape-html.js";
import type { PhaseDetail } from "../view/phase-page.js";
import { PAGE } from "./routes.js";
import type { Runs } from "./runs.js";

const MOST_TOOLS = 2_000;
const MOST_BLOB = 100_000;
const MOST_BYTES = 20_000_000;

export interface Reported {
  board: Board;
  phases: Record<string, PhaseDetail>;
  blobs: Record<string, string>;
}

/** Everything a page about this run shows, bounded. */
export async function gather(runs: Runs, run: string): Promise<Reported | undefined> {
  const board = await runs.board(run);
  if (board === undefined) return undefined;
  const phases: Record<string, PhaseDetail> = {};
  const blobs: Record<string, string> = {};
  let bytes = 0;
  for (const { id } of board.phases.filter((phase) => phase.startedAt !== undefined)) {
    const detail = await runs.phase(run, id);
    detail.tools = detail.tools.slice(-MOST_TOOLS);
    phases[id] = detail;
    const refs = [
      ...detail.gates.map((gate) => gate.output),
      ...detail.sessions.flatMap((session) => [session.checkpoint?.text ?? [], session.prompt].flat()),
    ];
    for (const ref of refs) {
      if (blobs[ref] !== undefined || bytes > MOST_BYTES) continue;
      const content = (await runs.blob(run, ref))?.slice(0, MOST_BLOB);
      if (content === undefined) continue;
      blobs[ref] = content;
      bytes += content.length;
    }
  }
  return { board, phases, blobs };
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Text inside a script element: nothing in it may end the element. */
const embed = (data: unknown): string =>
  JSON.stringify(data).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");

export function renderReport(reported: Reported): string {
  const folder = join(PAGE, "assets");
  const read = (ending: string): string =>
    readdirSync(folder)
      .filter((name) => name.endsWith(ending))
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("\n");
  const script = read(".js").replaceAll("</script", "<\\/script");
  const style = read(".css");
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(reported.board.title)}</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="segno-report">${embed(reported)}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}
