import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("status")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Show how a run stands: phases, sessions, handovers, peak context, tokens, gates, commits.")
    .option("--context", "also the layers of each phase's prompt, and what was left out")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno status --context\n  segno status --json | jq .phases")
    .action(async (run, flags) => end(await (await import("../commands/status.js")).statusCommand(run, flags)));
}
