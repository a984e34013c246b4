import type { Command } from "commander";
import { agentNames } from "../../agents/registry.js";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("init")
    .description(
      "Write a configuration with every key explained, and a plan: the one that is there is named, else one with blanks to fill. Asks at a terminal. Nothing is overwritten.",
    )
    .option(
      "--from <file>",
      "make the plan of a document's headings and bullets, or of an issue's checklist; - reads standard input",
    )
    .option("--agent <name>", `who does the work: ${agentNames().join(", ")}, or "acp:command args"`)
    .option("--permission-mode <mode>", "what the agent may do without asking: all, edits, listed or auto")
    .option("--no-gates", "do not look for the project's own checks")
    .option("-y, --yes", "ask nothing: take what is found, and leave the rest open")
    .option("--plan <name>", "the plan's name (default PLAN)")
    .option("--phases <n>", "how many phases (default 3)")
    .option("--from-debussy", "take the keys of .debussy/config.yaml over, and write no plan")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExamples:\n  segno init\n  segno init --plan my-feature --phases 5\n  segno init --from NOTES.md\n  gh issue view 12 --json body -q .body | segno init --from -",
    )
    .action(async (flags) => end(await (await import("../commands/init.js")).initCommand(flags)));
}
