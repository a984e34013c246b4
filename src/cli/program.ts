/** The commands, their flags and their help. */
import { Command } from "commander";
import { EXIT } from "./exit.js";
import { printFailure } from "./print.js";

export async function runProgram(version: string): Promise<void> {
  if (process.platform === "win32") {
    process.exitCode = printFailure({ type: "windows" }, false);
    return;
  }
  const program = new Command("segno")
    .description(
      "Runs a multi-phase plan through coding agents, unattended, and makes the end of a context window a non-event.",
    )
    .version(version, "-V, --version")
    .showHelpAfterError("(add --help for examples)")
    .exitOverride((error) => {
      process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
      throw error;
    })
    .addHelpText(
      "after",
      `
Examples:
  segno rehearse --example         watch the example plan run: no key, no cost
  segno rehearse PLAN.md           rehearse your own plan in a scratch clone
  segno run PLAN.md                run it for real
  segno status                     how the newest run stands

Exit codes: 0 all phases done, 1 a phase failed, 2 bad usage, configuration or plan,
            3 stopped and can be resumed, 4 waiting for a human, 130 ended by the user`,
    );

  const contextFlags = (command: Command): Command =>
    command
      .option("--json", "print the run's events, one JSON object a line")
      .option("--model <name>", "the model the agent uses")
      .option("--context-limit <tokens>", "cap the context window")
      .option("--context-threshold <percent>", "hand over at this percentage of the window (default 80)")
      .option("--max-restarts <n>", "handovers in a row without a finished task before a phase fails (default 3)");

  const runFlags = (command: Command): Command =>
    contextFlags(command)
      .option("--permission-mode <mode>", "what the agent may do without asking")
      .option("--auto-commit", "commit each phase and before each handover (default)")
      .option("--no-auto-commit", "keep snapshots under refs/segno/ only");

  runFlags(program.command("run"))
    .argument("[plan]", "the plan, a Markdown file in this repository (default: go on with the newest interrupted run)")
    .description("Run a plan with the real agent, or go on with an interrupted run of it.")
    .option("--fresh", "start anew even if a run of this plan was interrupted")
    .option("--allow-dirty", "start although tracked files are changed; they stay out of every commit")
    .addHelpText(
      "after",
      "\nExamples:\n  segno run PLAN.md --permission-mode acceptEdits\n  segno run PLAN.md --context-threshold 70 --json > events.jsonl",
    )
    .action(async (plan, flags) => end(await (await import("./commands/run.js")).runCommand(plan, flags)));

  runFlags(program.command("resume"))
    .argument("[run]", "a run's id (default: the newest interrupted one)")
    .description("Go on with a run that was interrupted, stopped or failed.")
    .addHelpText("after", "\nExamples:\n  segno resume\n  segno resume 20261116-004649-15f3")
    .action(async (run, flags) => end(await (await import("./commands/resume.js")).resumeCommand(run, flags)));

  contextFlags(program.command("rehearse"))
    .argument("[plan]", "the plan, a Markdown file in this repository")
    .description("Run a plan in a scratch clone, with the real agent and a stand-in model: no key, no cost.")
    .option("--example", "rehearse the example plan that comes with Segno")
    .option("--enforce-gates", "failing gates fail the phase, as in a real run")
    .option("--chars-per-task <n>", "how much tool output each task brings into the context (default 4000)")
    .addHelpText("after", "\nExamples:\n  segno rehearse --example\n  segno rehearse PLAN.md --context-limit 40000")
    .action(async (plan, flags) => end(await (await import("./commands/rehearse.js")).rehearseCommand(plan, flags)));

  program
    .command("status")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Show how a run stands: phases, sessions, handovers, peak context, tokens, gates, commits.")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno status\n  segno status --json | jq .phases")
    .action(async (run, flags) => end(await (await import("./commands/status.js")).statusCommand(run, flags)));

  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || !String(error.code).startsWith("commander.")) throw error;
  }
}

function end(code: number): void {
  process.exitCode = code;
}
