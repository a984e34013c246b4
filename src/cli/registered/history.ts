import type { Command } from "commander";
import { end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("diff")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Show what a run, or one phase of it, committed.")
    .option("--phase <id>", "only this phase")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno diff\n  segno diff --phase 2")
    .action(async (run, flags) => end(await (await import("../commands/history.js")).diffCommand(run, flags)));

  program
    .command("undo")
    .argument("[run]", "a run's id (default: the newest)")
    .description("Go back to before a run, or one phase of it: by new commits, never by force.")
    .option("--phase <id>", "only this phase")
    .option("--move", "move the branch back instead, if nothing else came after")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno undo\n  segno undo --phase 2\n  segno undo --move")
    .action(async (run, flags) => end(await (await import("../commands/history.js")).undoCommand(run, flags)));

  program
    .command("snapshots")
    .argument("[run]", "a run's id (default: the newest)")
    .description("List what a run without auto_commit kept, and how to look at it or restore it.")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno snapshots")
    .action(async (run, flags) => end(await (await import("../commands/history.js")).snapshotsCommand(run, flags)));

  program
    .command("clean")
    .description("Remove journals and refs of finished runs; never work that is on no branch.")
    .option("--dry-run", "only say what would be removed")
    .option("--older-than <age>", "only runs that ended so long ago: 12h, 14d, 2w")
    .option("--keep <n>", "keep the newest n, whatever their age")
    .option("--team", "the team's runs instead of this machine's: for the database's owner")
    .option("--snapshots", "also runs whose snapshots are on no branch")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno clean --dry-run\n  segno clean --older-than 14d --keep 1")
    .action(async (flags) => end(await (await import("../commands/clean.js")).cleanCommand(flags)));
}
