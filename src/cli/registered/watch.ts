import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("watch")
    .argument("[run]", "a run's id (default: the newest)")
    .description("The live screen of a run, from any terminal; the run does not need it.")
    .option("--plain", "lines instead of the live screen")
    .addHelpText("after", "\nExamples:\n  segno watch\n  segno run PLAN.md --detach && segno watch")
    .action(async (run, flags) => end(await (await import("../commands/watch.js")).watchCommand(run, flags)));
}
