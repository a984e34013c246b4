import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("runs")
    .description("List the runs of this repository: plan, state, progress, cost, last event.")
    .option("--rehearsals", "those of rehearsals, which lie in temporary folders")
    .option("--json", "print one JSON array")
    .addHelpText("after", "\nExamples:\n  segno runs\n  segno runs --json | jq '.[0].run'")
    .action(async (flags) => end(await (await import("../commands/runs.js")).runsCommand(flags)));

  program
    .command("logs")
    .argument("[run]", "a run's id (default: the newest)")
    .description("What happened in a run, a line per event.")
    .option("--phase <id>", "only what belongs to this phase")
    .option("--follow", "go on until the run is over")
    .option("--json", "print the events, one JSON object a line")
    .addHelpText("after", "\nExamples:\n  segno logs --follow\n  segno logs --phase 2 --json | jq .type")
    .action(async (run, flags) => end(await (await import("../commands/runs.js")).logsCommand(run, flags)));
}
