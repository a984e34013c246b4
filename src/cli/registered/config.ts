import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("config")
    .argument("[action]", "get, set or unset (default: show everything)")
    .argument("[key]", "a key of the configuration")
    .argument("[value]", "what it is set to, as in the file")
    .description("Show the effective configuration and where each value comes from, or change one value.")
    .option("--user", "change your own file (~/.config/segno/config.yaml) instead of the project's")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno config\n  segno config get context_threshold\n  segno config set context_threshold 70\n  segno config set permission_mode edits --user",
    )
    .action(async (action, key, value, flags) =>
      end(await (await import("../commands/config.js")).configCommand(action, key, value, flags)),
    );
}
