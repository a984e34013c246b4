import type { Command } from "commander";
import { end } from "../exit.js";
import { planFlags } from "../flags.js";

export function register(program: Command): void {
  planFlags(program.command("audit"))
    .argument("[plans...]", "files, or folders that hold a plan (default: PLAN.md, or the only plan there is)")
    .description("Say what Segno understands of a plan, in which order it would run, and what is wrong or doubtful.")
    .option("--json", "print one JSON object; with several plans one a line")
    .option("--strict", "count warnings as errors")
    .option(
      "--try-gates",
      "run each gate in a scratch clone: one that passes now proves nothing when its phase is done",
    )
    .option("--sub-phases <how>", "together, or separate: sub-phases of a phase file as phases of their own")
    .addHelpText(
      "after",
      "\nExamples:\n  segno audit PLAN.md\n  segno audit PLAN.md --strict --json | jq .diagnostics\n  segno audit .kiro/specs/login docs/plans/*.md\n  segno audit PLAN.md --try-gates",
    )
    .action(async (plans, flags) => end(await (await import("../commands/audit.js")).auditCommand(plans, flags)));
}
