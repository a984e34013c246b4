import type { Command } from "commander";
import { end } from "../exit.js";
import { runFlags } from "../flags.js";

export function register(program: Command): void {
  runFlags(program.command("config"))
    .description("Show the effective configuration and where each value comes from.")
    .addHelpText("after", "\nExamples:\n  segno config\n  segno config --json")
    .action(async (flags) => end(await (await import("../commands/config.js")).configCommand(flags)));
}
