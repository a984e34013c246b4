import type { Command } from "commander";
import { end } from "../exit.js";

const PASSWORD =
  "a file that holds the database password, readable by you alone (default: SEGNO_TEAM_PASSWORD_FILE, ~/.pgpass, else asked for)";

export function register(program: Command): void {
  const team = program
    .command("team")
    .description("One plan on many machines: a team's database, and who works there.");

  team
    .command("init")
    .argument("<url>", "postgres://user@host/db, without a password; off this machine with ?sslmode=verify-full")
    .description("Make a PostgreSQL database the team's, once, and write .segno/team.yaml.")
    .option("--remote <name>", "the git remote by which code travels (default: origin)")
    .option("--name <name>", "what all clones call this repository (default: made from its folder and first commit)")
    .option("--password-file <file>", PASSWORD)
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno team init 'postgres://owner@db.example.org/segno?sslmode=verify-full'")
    .action(async (url, flags) => end(await (await import("../commands/team.js")).teamInitCommand(url, flags)));

  team
    .command("status")
    .description("Workers (version, agents, accounts, slots, what they do, last seen), open runs, and what waits.")
    .option("--password-file <file>", PASSWORD)
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExamples:\n  segno team status")
    .action(async (flags) => end(await (await import("../commands/team.js")).teamStatusCommand(flags)));

  program
    .command("worker")
    .description("Work for the team on this machine: conduct its runs, and do phases of its plans, until it is ended.")
    .option("--slots <n>", "how many phases at once", "1")
    .option("--agents <list>", "which agents may work here: claude,codex (default: the configured one)")
    .option("--labels <list>", "what only this machine has: a phase that says **Needs:** gpu goes only there")
    .option(
      "--account <agent=name...>",
      "whose account an agent uses here (default: one for all): limits are an account's",
    )
    .option("--repo <url>", "clone this repository, instead of the one you are in")
    .option("--name <name>", "what this worker is called (default: the machine's name)")
    .option("--permission-mode <mode>", "the most that agents may do here: all, edits, listed or auto")
    .option("--password-file <file>", PASSWORD)
    .option("--json", "print one JSON object a line")
    .addHelpText(
      "after",
      "\nExamples:\n  segno worker --slots 2 --agents claude,codex --labels gpu\n  segno worker --repo git@example.org:team/app.git",
    )
    .action(async (flags) =>
      end(await (await import("../commands/worker.js")).workerCommand(flags, program.version() ?? "")),
    );
}
