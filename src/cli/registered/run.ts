import type { Command } from "commander";
import { end } from "../exit.js";
import { planFlags, runFlags } from "../flags.js";

export function register(program: Command): void {
  planFlags(runFlags(program.command("run")))
    .argument(
      "[plan]",
      "the plan: a file of this repository, or a folder that holds one (default: go on with the newest interrupted run; else PLAN.md, or the only plan there is)",
    )
    .description("Run a plan with the real agent, or go on with an interrupted run of it.")
    .option("--phases <list>", "run only these: 1-3,5")
    .option("--from <id>", "run from this phase on")
    .option("--only <id>", "run this phase alone")
    .option("--force", "run phases again that the plan marks as done")
    .option("--dry-run", "show waves and prompt sizes, and start nothing")
    .option("--fresh", "start anew even if a run of this plan was interrupted")
    .option("--allow-dirty", "start although tracked files are changed; they stay out of every commit")
    .option("--team", "on all the workers of the team (segno team init, segno worker)")
    .option("--on-default-branch", "with --team and --branch: yes, on the branch that everybody builds on")
    .addHelpText(
      "after",
      "\nExamples:\n  segno run PLAN.md --permission-mode edits\n  segno run PLAN.md --context-threshold 70 --json > events.jsonl",
    )
    .action(async (plan, flags) => end(await (await import("../commands/run.js")).runCommand(plan, flags)));
}
