import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  const steering: ["pause" | "continue" | "stop", string][] = [
    ["pause", "Let the running tool finish, then begin nothing until `segno continue`."],
    ["continue", "Let a paused run go on."],
    ["stop", "Let the running tool finish, save a checkpoint, and stop; `segno resume` goes on."],
  ];
  for (const [name, description] of steering) {
    program
      .command(name)
      .description(description)
      .option("--run <id>", "which run, where several go on (default: the one in this checkout, else the newest)")
      .option("--json", "print one JSON object")
      .addHelpText(
        "after",
        `\nExamples:\n  segno ${name}        from any terminal in the repository\n  segno ${name} --run 4f1c   that run`,
      )
      .action(async (flags) => end(await (await import("../commands/steer.js")).steerCommand(name, flags)));
  }

  program
    .command("skip")
    .argument("<phase>", "a phase's id")
    .description("Leave a phase out; phases that depend on it may begin.")
    .option("--run <id>", "which run, where several go on (default: the one in this checkout, else the newest)")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno skip 2")
    .action(async (phase, flags) => end(await (await import("../commands/steer.js")).skipCommand(phase, flags)));

  program
    .command("answer")
    .argument("[words...]", "[RUN] [NUMBER] CHOICE")
    .description("Show what a run asks, or answer it: one word is a choice, a number before it says which question.")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno answer            what is asked\n  segno answer pass       where only one question has that answer\n  segno answer 2 pass     the second one",
    )
    .action(async (words, flags) => end(await (await import("../commands/answer.js")).answerCommand(words, flags)));
}
