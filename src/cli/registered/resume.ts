import type { Command } from "commander";
import { end } from "../exit.js";
import { runFlags } from "../flags.js";

export function register(program: Command): void {
  runFlags(program.command("resume"))
    .argument("[run]", "a run's id (default: the newest interrupted one)")
    .description("Go on with a run that was interrupted, stopped or failed.")
    .addHelpText("after", "\nExamples:\n  segno resume\n  segno resume 20261116-004649-15f3")
    .action(async (run, flags) => end(await (await import("../commands/resume.js")).resumeCommand(run, flags)));
}
