import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("init")
    .description(
      "Write a configuration with every key explained, and a plan with blanks to fill. Nothing is overwritten.",
    )
    .option("--plan <name>", "the plan's name (default PLAN)")
    .option("--phases <n>", "how many phases (default 3)")
    .option("--from-debussy", "take the keys of .debussy/config.yaml over, and write no plan")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno init\n  segno init --plan my-feature --phases 5")
    .action(async (flags) => end(await (await import("../commands/init.js")).initCommand(flags)));
}
