import type { Command } from "commander";
import { end } from "../exit.js";
import { contextFlags, planFlags } from "../flags.js";

export function register(program: Command): void {
  planFlags(contextFlags(program.command("forecast")))
    .argument(
      "[plan]",
      "a file of this repository, or a folder that holds a plan (default: PLAN.md, or the only plan there is)",
    )
    .description("Say what each phase is expected to need: context, sessions, tokens and cost. Starts nothing.")
    .option("--force", "count phases that the plan marks as done")
    .option("--quality", "count independent verification and remediation of each phase")
    .addHelpText(
      "after",
      "\nExamples:\n  segno forecast PLAN.md\n  segno forecast PLAN.md --model claude-opus-4-8 --json",
    )
    .action(async (plan, flags) => end(await (await import("../commands/forecast.js")).forecastCommand(plan, flags)));
}
