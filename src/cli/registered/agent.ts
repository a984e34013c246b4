import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("progress")
    .argument("<message>", "what is finished now")
    .description("For agents without MCP: report a finished task or step.")
    .option("--task <id>", "the id of the finished task")
    .option("--json", "print one JSON object")
    .addHelpText("after", '\nExamples:\n  segno progress "library written" --task 1.1')
    .action(async (message, flags) =>
      end(await (await import("../commands/agent.js")).progressCommand(message, flags)),
    );

  program
    .command("done")
    .description("For agents without MCP: end the phase.")
    .requiredOption("--phase <id>", "the phase")
    .option("--status <status>", "completed, failed, needs_human_verification or split_request (default completed)")
    .option("--summary <text>", "what was done, in at most 50 words")
    .option("--split <json>", "with split_request: reason and recommended_sub_phases, as JSON or a file that holds it")
    .option("--json", "print one JSON object")
    .addHelpText("after", '\nExamples:\n  segno done --phase 2 --summary "six languages, all tested"')
    .action(async (flags) => end(await (await import("../commands/agent.js")).doneCommand(flags)));
}
