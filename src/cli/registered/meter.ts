import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("meter")
    .argument(
      "[paths...]",
      "transcripts of Claude Code or Codex (*.jsonl), captured stream-json, folders that hold them, or what `opencode export` printed",
    )
    .description(
      "How full the window was, call by call; with --evaluate, how well that was foreseen, beside other ways to count; with --what-if, what the same work would have cost with other policies.",
    )
    .option("--evaluate", "the reading before each call against the truth")
    .option(
      "--what-if",
      "cost and tokens as it was, and with other policies; without paths of this repository's newest run",
    )
    .option("--html <file>", "with --what-if: a picture of it, as one file")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno meter ~/.claude/projects\n  segno meter ~/.claude/projects --what-if --html what-if.html\n  segno meter ~/.codex/sessions\n  segno meter session.jsonl --evaluate --json",
    )
    .action(async (paths, flags) => end(await (await import("../commands/meter.js")).meterCommand(paths, flags)));
}
