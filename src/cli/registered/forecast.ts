import type { Command } from "commander";
import { end } from "../exit.js";
import { contextFlags } from "../flags.js";

export function register(program: Command): void {
  contextFlags(program.command("forecast"))
    .argument("<plan>", "a Markdown file in this repository")
    .description("Say what each phase is expected to need: context, sessions, tokens and cost. Starts nothing.")
    .option("--format <name>", "what form the plan has, if Segno guesses wrong")
    .option("--force", "count phases that the plan marks as done")
    .option("--quality", "count independent verification and remediation of each phase")
    .addHelpText(
      "after",
      "\nExamples:\n  segno forecast PLAN.md\n  segno forecast PLAN.md --model claude-opus-4-8 --json",
    )
    .action(async (plan, flags) => end(await (await import("../commands/forecast.js")).forecastCommand(plan, flags)));
}
