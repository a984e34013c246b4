import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("meter")
    .argument("<paths...>", "transcripts of Claude Code (*.jsonl), captured stream-json, or folders that hold them")
    .description(
      "How full the window was, call by call; with --evaluate, how well that was foreseen, beside other ways to count.",
    )
    .option("--evaluate", "the reading before each call against the truth")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno meter ~/.claude/projects\n  segno meter session.jsonl --evaluate --json",
    )
    .action(async (paths, flags) => end(await (await import("../commands/meter.js")).meterCommand(paths, flags)));
}
