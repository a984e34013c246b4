import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("doctor")
    .description(
      "Look at everything a run needs: node, git, disk, permissions, agent and login, left-overs of dead runs.",
    )
    .option("--fix", "end processes that dead runs left")
    .option("--agents", "every agent that Segno knows: whether it is here, and what it could do")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno doctor\n  segno doctor --agents\n  segno doctor --fix")
    .action(async (flags) => end(await (await import("../commands/doctor.js")).doctorCommand(flags)));
}
