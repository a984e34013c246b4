import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("report")
    .argument("[run]", "a run's id (default: the newest)")
    .description("A run as one document: Markdown by default, for a pull request or a CI artifact.")
    .option("--html <file>", "one self-contained page with the chart, the tables and what was handed over")
    .option("--markdown", "Markdown, on standard output (default)")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno report --html run.html\n  segno report --markdown >> $GITHUB_STEP_SUMMARY",
    )
    .action(async (run, flags) => end(await (await import("../commands/report.js")).reportCommand(run, flags)));
}
