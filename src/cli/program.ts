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
  segno init, segno audit PLAN.md  write a plan, and see what Segno understands of it
  segno forecast PLAN.md           what it will need: sessions, tokens, cost
  segno status, segno runs         how the newest run stands, and which there were
  segno watch, segno dashboard     the live screen, and the web page
  segno report --html run.html     a run as one file
  segno answer CHOICE              answer what a run asks
  segno pause | continue | stop    steer it from another terminal
  segno resume                     go on after a stop, a crash or a failure
  segno doctor                     is everything there that a run needs?

Exit codes: 0 all phases done, 1 a phase failed, 2 bad usage, configuration or plan,
            3 stopped and can be resumed, 4 waiting for a human, 130 ended by the user`,
    );

  const contextFlags = (command: Command): Command =>
    command
      .option("--json", "print the run's events, one JSON object a line")
      .option("--model <name>", "the model the agent uses")
      .option("--context-limit <tokens>", "cap the context window")
      .option("--context-threshold <percent>", "hand over at this percentage of the window (default 80)")
      .option("--context-policy <policy>", "at the threshold: restart (default), ask, observe or stop")
      .option("--context-soft <percent>", "from here hand over at natural boundaries (default 65), or auto")
      .option("--max-restarts <n>", "handovers in a row without a finished task before a phase fails (default 3)");

  const runFlags = (command: Command): Command =>
    contextFlags(command)
      .option("--detach", "run in the background, and survive this terminal")
      .option("--plain", "lines instead of the live screen")
      .option("--dashboard", "print the link of the run's web page, and open it")
      .option("--permission-mode <mode>", "what the agent may do without asking")
      .option("--quality", "let an independent session verify each phase against its acceptance criteria")
      .option("--checkpoint-every <n>", "ask to go on after every n phases")
      .option("--on-failure <what>", "continue with phases that do not depend on it (default), or stop")
      .option("--parallel <n>", "work on up to n independent phases at once, each in a worktree of its own")
      .option("--sequential", "one phase at a time, whatever the configuration says")
      .option("--split <how>", "what to do with a phase that is too large: auto, ask or off")
      .option("--branch <name>", "work on the current branch (default), auto (a new one), or a named one")
      .option("--auto-commit", "commit each phase and before each handover (default)")
      .option("--no-auto-commit", "keep snapshots under refs/segno/ only");

  runFlags(program.command("run"))
    .argument("[plan]", "the plan, a Markdown file in this repository (default: go on with the newest interrupted run)")
    .description("Run a plan with the real agent, or go on with an interrupted run of it.")
    .option("--phases <list>", "run only these: 1-3,5")
    .option("--from <id>", "run from this phase on")
    .option("--only <id>", "run this phase alone")
    .option("--force", "run phases again that the plan marks as done")
    .option("--dry-run", "show waves and prompt sizes, and start nothing")
    .option("--format <name>", "what form the plan has, if Segno guesses wrong")
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
    .option("--format <name>", "what form the plan has, if Segno guesses wrong")
    .option("--plain", "lines instead of the live screen")
    .option("--dashboard", "print the link of the run's web page, and open it")
    .option("--parallel <n>", "work on up to n independent phases at once, each in a worktree of its own")
    .option("--sequential", "one phase at a time, whatever the configuration says")
    .option("--example", "rehearse the example plan that comes with Segno")
    .option("--enforce-gates", "failing gates fail the phase, as in a real run")
    .option("--chars-per-task <n>", "how much tool output each task brings into the context (default 4000)")
    .addHelpText("after", "\nExamples:\n  segno rehearse --example\n  segno rehearse PLAN.md --context-limit 40000")
    .action(async (plan, flags) => end(await (await import("./commands/rehearse.js")).rehearseCommand(plan, flags)));

  program
    .command("status")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Show how a run stands: phases, sessions, handovers, peak context, tokens, gates, commits.")
    .option("--context", "also the layers of each phase's prompt, and what was left out")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno status --context\n  segno status --json | jq .phases")
    .action(async (run, flags) => end(await (await import("./commands/status.js")).statusCommand(run, flags)));

  program
    .command("watch")
    .argument("[run]", "a run's id (default: the newest)")
    .description("The live screen of a run, from any terminal; the run does not need it.")
    .option("--plain", "lines instead of the live screen")
    .addHelpText("after", "\nExamples:\n  segno watch\n  segno run PLAN.md --detach && segno watch")
    .action(async (run, flags) => end(await (await import("./commands/watch.js")).watchCommand(run, flags)));

  program
    .command("runs")
    .description("List the runs of this repository: plan, state, progress, cost, last event.")
    .option("--json", "print one JSON array")
    .addHelpText("after", "\nExamples:\n  segno runs\n  segno runs --json | jq '.[0].run'")
    .action(async (flags) => end(await (await import("./commands/runs.js")).runsCommand(flags)));

  program
    .command("logs")
    .argument("[run]", "a run's id (default: the newest)")
    .description("What happened in a run, a line per event.")
    .option("--phase <id>", "only what belongs to this phase")
    .option("--follow", "go on until the run is over")
    .option("--json", "print the events, one JSON object a line")
    .addHelpText("after", "\nExamples:\n  segno logs --follow\n  segno logs --phase 2 --json | jq .type")
    .action(async (run, flags) => end(await (await import("./commands/runs.js")).logsCommand(run, flags)));

  program
    .command("report")
    .argument("[run]", "a run's id (default: the newest)")
    .description("A run as one document: Markdown by default, for a pull request or a CI artifact.")
    .option("--html <file>", "one self-contained page with the chart, the tables and what was handed over")
    .option("--markdown", "Markdown, on standard output (default)")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno report --html run.html\n  segno report --markdown >> $GITHUB_STEP_SUMMARY",
    )
    .action(async (run, flags) => end(await (await import("./commands/report.js")).reportCommand(run, flags)));

  program
    .command("dashboard")
    .argument("[run]", "a run's id (default: the list of runs)")
    .description("The web page of this repository's runs, on this machine only. Prints its link.")
    .option("--port <n>", "the port to listen on (default: a free one)")
    .option("--no-open", "do not open a browser")
    .option("--json", "print the link as one JSON object")
    .addHelpText("after", "\nExamples:\n  segno dashboard\n  segno dashboard --port 4000 --no-open")
    .action(async (run, flags) => end(await (await import("./commands/dashboard.js")).dashboardCommand(run, flags)));

  program
    .command("audit")
    .argument("<plan>", "a Markdown file")
    .description("Say what Segno understands of a plan, in which order it would run, and what is wrong or doubtful.")
    .option("--json", "print one JSON object")
    .option("--strict", "count warnings as errors")
    .option("--format <name>", "what form the plan has, if Segno guesses wrong")
    .option("--sub-phases <how>", "together, or separate: sub-phases of a phase file as phases of their own")
    .addHelpText("after", "\nExamples:\n  segno audit PLAN.md\n  segno audit PLAN.md --strict --json | jq .diagnostics")
    .action(async (plan, flags) => end(await (await import("./commands/audit.js")).auditCommand(plan, flags)));

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
    .action(async (plan, flags) => end(await (await import("./commands/forecast.js")).forecastCommand(plan, flags)));

  program
    .command("init")
    .description(
      "Write a configuration with every key explained, and a plan with blanks to fill. Nothing is overwritten.",
    )
    .option("--plan <name>", "the plan's name (default PLAN)")
    .option("--phases <n>", "how many phases (default 3)")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno init\n  segno init --plan my-feature --phases 5")
    .action(async (flags) => end(await (await import("./commands/init.js")).initCommand(flags)));

  program
    .command("meter")
    .argument("<paths...>", "transcripts of Claude Code (*.jsonl), captured stream-json, or folders that hold them")
    .description(
      "How full the window was, call by call; with --evaluate, how well that was foreseen, beside other ways to count.",
    )
    .option("--evaluate", "the reading before each call against the truth")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno meter ~/.claude/projects\n  segno meter session.jsonl --evaluate --json",
    )
    .action(async (paths, flags) => end(await (await import("./commands/meter.js")).meterCommand(paths, flags)));

  runFlags(program.command("config"))
    .description("Show the effective configuration and where each value comes from.")
    .addHelpText("after", "\nExamples:\n  segno config\n  segno config --json")
    .action(async (flags) => end(await (await import("./commands/config.js")).configCommand(flags)));

  program
    .command("doctor")
    .description(
      "Look at everything a run needs: node, git, disk, permissions, agent and login, left-overs of dead runs.",
    )
    .option("--fix", "end processes that dead runs left")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno doctor\n  segno doctor --fix")
    .action(async (flags) => end(await (await import("./commands/doctor.js")).doctorCommand(flags)));

  const steering: ["pause" | "continue" | "stop", string][] = [
    ["pause", "Let the running tool finish, then begin nothing until `segno continue`."],
    ["continue", "Let a paused run go on."],
    ["stop", "Let the running tool finish, save a checkpoint, and stop; `segno resume` goes on."],
  ];
  for (const [name, description] of steering) {
    program
      .command(name)
      .description(description)
      .option("--json", "print one JSON object")
      .addHelpText("after", `\nExamples:\n  segno ${name}        from any terminal in the repository`)
      .action(async (flags) => end(await (await import("./commands/steer.js")).steerCommand(name, flags)));
  }

  program
    .command("skip")
    .argument("<phase>", "a phase's id")
    .description("Leave a phase out; phases that depend on it may begin.")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno skip 2")
    .action(async (phase, flags) => end(await (await import("./commands/steer.js")).skipCommand(phase, flags)));

  program
    .command("answer")
    .argument("<words...>", "[RUN] [QUESTION] CHOICE")
    .description("Answer a question of a run; `segno status` lists them with their choices.")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno answer continue\n  segno answer 2/a1/session/3/ask stop")
    .action(async (words, flags) => end(await (await import("./commands/steer.js")).answerCommand(words, flags)));

  program
    .command("diff")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Show what a run, or one phase of it, committed.")
    .option("--phase <id>", "only this phase")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno diff\n  segno diff --phase 2")
    .action(async (run, flags) => end(await (await import("./commands/history.js")).diffCommand(run, flags)));

  program
    .command("undo")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Go back to before a run, or one phase of it: by new commits, never by force.")
    .option("--phase <id>", "only this phase")
    .option("--move", "move the branch back instead, if nothing else came after")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno undo\n  segno undo --phase 2\n  segno undo --move")
    .action(async (run, flags) => end(await (await import("./commands/history.js")).undoCommand(run, flags)));

  program
    .command("snapshots")
    .argument("[run]", "a run's id (default: the newest)")
    .description("List what a run without auto_commit kept, and how to look at it or restore it.")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno snapshots")
    .action(async (run, flags) => end(await (await import("./commands/history.js")).snapshotsCommand(run, flags)));

  program
    .command("clean")
    .description("Remove journals and refs of finished runs; never work that is on no branch.")
    .option("--dry-run", "only say what would be removed")
    .option("--snapshots", "also runs whose snapshots are on no branch")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno clean --dry-run")
    .action(async (flags) => end(await (await import("./commands/history.js")).cleanCommand(flags)));

  program
    .command("progress")
    .argument("<message>", "what is finished now")
    .description("For agents without MCP: report a finished task or step.")
    .option("--task <id>", "the id of the finished task")
    .option("--json", "print one JSON object")
    .addHelpText("after", '\nExamples:\n  segno progress "library written" --task 1.1')
    .action(async (message, flags) => end(await (await import("./commands/agent.js")).progressCommand(message, flags)));

  program
    .command("done")
    .description("For agents without MCP: end the phase.")
    .requiredOption("--phase <id>", "the phase")
    .option("--status <status>", "completed, failed, needs_human_verification or split_request (default completed)")
    .option("--summary <text>", "what was done, in at most 50 words")
    .option("--json", "print one JSON object")
    .addHelpText("after", '\nExamples:\n  segno done --phase 2 --summary "six languages, all tested"')
    .action(async (flags) => end(await (await import("./commands/agent.js")).doneCommand(flags)));

  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || !String(error.code).startsWith("commander.")) throw error;
  }
}

function end(code: number): void {
  process.exitCode = code;
}
