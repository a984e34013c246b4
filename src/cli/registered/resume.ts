import type { Command } from "commander";
import { end } from "../exit.js";
import { runFlags } from "../flags.js";

export function register(program: Command): void {
  runFlags(program.command("resume"))
    .argument("[run]", "a run's id (default: the newest interrupted one)")
    .description("Go on with a run that was interrupted, stopped or failed.")
    .option("--all", "in the background, every run of this repository whose process is gone: after a reboot")
    .addHelpText("after", "\nExamples:\n  segno resume\n  segno resume 15f3\n  segno resume --all")
    .action(async (run, flags) => end(await (await import("../commands/resume.js")).resumeCommand(run, flags)));

  program
    .command("revive", { hidden: true })
    .argument("<run>", "a run's id")
    .argument("<cause>", "how its process ended, as far as that is known")
    .action(async (run, cause) => end(await (await import("../commands/revive.js")).reviveCommand(run, cause)));
}
