import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("dashboard")
    .argument("[run]", "a run's id (default: the list of runs)")
    .description("The web page of this repository's runs, on this machine only. Prints its link.")
    .option("--port <n>", "the port to listen on (default: a free one)")
    .option("--no-open", "do not open a browser")
    .option("--json", "print the link as one JSON object")
    .addHelpText("after", "\nExamples:\n  segno dashboard\n  segno dashboard --port 4000 --no-open")
    .action(async (run, flags) => end(await (await import("../commands/dashboard.js")).dashboardCommand(run, flags)));
}
