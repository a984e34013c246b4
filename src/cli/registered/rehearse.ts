import type { Command } from "commander";
import { end } from "../exit.js";
import { contextFlags } from "../flags.js";

export function register(program: Command): void {
  contextFlags(program.command("rehearse"))
    .argument("[plan]", "the plan, a Markdown file in this repository")
    .description("Run a plan in a scratch clone, with the real agent and a stand-in model: no key, no cost.")
    .option("--format <name>", "what form the plan has, if Segno guesses wrong")
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
