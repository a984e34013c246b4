import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("gate")
    .argument("[name]", "a gate's name (default: list them)")
    .description("Show what a gate printed when it was last run, or run it again: exit 0 passed, 1 failed.")
    .option("--phase <id>", "the gate of this phase")
    .option("--of <run>", "in this run (default: the newest)")
    .option("--run", "run it now, in the checkout as it is")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno gate\n  segno gate tests --phase 2\n  segno gate tests --run")
    .action(async (name, flags) => end(await (await import("../commands/gate.js")).gateCommand(name, flags)));
}
