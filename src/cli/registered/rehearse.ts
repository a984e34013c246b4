import type { Command } from "commander";
import { end } from "../exit.js";
import { contextFlags, planFlags } from "../flags.js";

export function register(program: Command): void {
  planFlags(contextFlags(program.command("rehearse")))
    .argument(
      "[plan]",
      "the plan: a file of this repository, or a folder that holds one (default: PLAN.md, or the only plan there is)",
    )
    .description("Run a plan in a scratch clone, with the real agent and a stand-in model: no key, no cost.")
    .option("--phases <list>", "rehearse only these: 1-3,5")
    .option("--only <id>", "rehearse this phase alone")
    .option("--permission-mode <mode>", "what the agent may do without asking: all (default), edits, listed or auto")
    .option("--plain", "lines instead of the live screen")
    .option("--dashboard", "print the link of the run's web page, and open it")
    .option("--parallel <n>", "work on up to n independent phases at once, each in a worktree of its own")
    .option("--sequential", "one phase at a time, whatever the configuration says")
    .option("--example", "rehearse the example plan that comes with Segno")
    .option("--enforce-gates", "failing gates fail the phase, as in a real run")
    .option("--chars-per-task <n>", "how much tool output each task brings into the context (default 4000)")
    .addHelpText("after", "\nExamples:\n  segno rehearse --example\n  segno rehearse PLAN.md --context-limit 40000")
    .action(async (plan, flags) => end(await (await import("../commands/rehearse.js")).rehearseCommand(plan, flags)));
}
