import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("audit")
    .argument("<plan>", "a Markdown file")
    .description("Say what Segno understands of a plan, in which order it would run, and what is wrong or doubtful.")
    .option("--json", "print one JSON object")
    .option("--strict", "count warnings as errors")
    .option("--format <name>", "what form the plan has, if Segno guesses wrong")
    .option("--sub-phases <how>", "together, or separate: sub-phases of a phase file as phases of their own")
    .addHelpText("after", "\nExamples:\n  segno audit PLAN.md\n  segno audit PLAN.md --strict --json | jq .diagnostics")
    .action(async (plan, flags) => end(await (await import("../commands/audit.js")).auditCommand(plan, flags)));
}
