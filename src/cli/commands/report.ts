/** `report`: a run as one file, for a pull request or a CI artifact. */
import { writeFileSync } from "node:fs";
import { Git } from "../../git/git.js";
import { markdownReport } from "../../view/markdown-report.js";
import { figuresOf } from "../../view/report.js";
import { gather, renderReport } from "../../web/report.js";
import { Runs } from "../../web/runs.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printFailure } from "../print-failure.js";

export interface ReportFlags {
  html?: string;
  markdown?: boolean;
  json?: boolean;
}

export async function reportCommand(named: string | undefined, flags: ReportFlags): Promise<number> {
  const found = await findRun(named, flags);
  if (!found.ok) return printFailure(found.failure, flags.json === true);
  const { top, store, run } = found.value;
  const runs = new Runs(store, new Git(top));
  const reported = await gather(runs, run);
  if (reported === undefined)
    return printFailure({ type: "nothing-to-resume", run, why: "its journal is empty" }, flags.json === true);
  if (flags.json === true) {
    const { board } = reported;
    const { startedAt, now, spent, budget, marks } = board;
    console.log(JSON.stringify({ ...figuresOf(board), startedAt, now, spent, budget, marks }));
    return EXIT.done;
  }
  if (flags.html === undefined) {
    process.stdout.write(markdownReport(reported.board));
    return EXIT.done;
  }
  try {
    writeFileSync(flags.html, renderReport(reported));
  } catch (error) {
    const what = `${flags.html} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
    return printFailure({ type: "usage", what, fix: "Name a file in a folder that exists." }, false);
  }
  console.log(`Report of run ${run}: ${flags.html}`);
  return EXIT.done;
}
