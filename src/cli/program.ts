/** The program: its help, its exit codes, and the commands, which register themselves. */
import { Command } from "commander";
import { EXIT, end } from "./exit.js";
import { endWithReader } from "./output.js";
import { printFailure } from "./print-failure.js";
import * as agent from "./registered/agent.js";
import * as audit from "./registered/audit.js";
import * as completion from "./registered/completion.js";
import * as config from "./registered/config.js";
import * as dashboard from "./registered/dashboard.js";
import * as doctor from "./registered/doctor.js";
import * as forecast from "./registered/forecast.js";
import * as gate from "./registered/gate.js";
import * as history from "./registered/history.js";
import * as init from "./registered/init.js";
import * as meter from "./registered/meter.js";
import * as rehearse from "./registered/rehearse.js";
import * as report from "./registered/report.js";
import * as resume from "./registered/resume.js";
import * as run from "./registered/run.js";
import * as runs from "./registered/runs.js";
import * as status from "./registered/status.js";
import * as steer from "./registered/steer.js";
import * as team from "./registered/team.js";
import * as watch from "./registered/watch.js";

/** In the order in which the help lists them; what each does is loaded when it is called. */
const COMMANDS = [
  run,
  resume,
  rehearse,
  status,
  gate,
  watch,
  runs,
  report,
  dashboard,
  audit,
  forecast,
  init,
  meter,
  config,
  doctor,
  completion,
  steer,
  history,
  team,
  agent,
];

/** All commands, with what each takes; nothing of them is loaded yet. */
export function buildProgram(version: string): Command {
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
  segno                            where you stand, and which command comes next
  segno init, segno audit PLAN.md  write a plan, and see what Segno understands of it
  segno forecast PLAN.md           what it will need: sessions, tokens, cost
  segno status, segno runs         how the newest run stands, and which there were
  segno gate NAME                  all that a failing gate printed; --run runs it again
  segno watch, segno dashboard     the live screen, and the web page
  segno report --html run.html     a run as one file
  segno answer CHOICE              answer what a run asks
  segno pause | continue | stop    steer it from another terminal
  segno resume                     go on after a stop, a crash or a failure
  segno team, segno worker         one plan on many machines
  segno doctor                     is everything there that a run needs?

Exit codes: 0 all phases done, 1 a phase failed, 2 bad usage, configuration or plan,
            3 stopped and can be resumed, 4 waiting for a human,
            75 the team's database cannot be reached, 130 ended by the user`,
    );

  for (const { register } of COMMANDS) register(program);
  return program;
}

export async function runProgram(version: string): Promise<void> {
  endWithReader();
  if (process.platform === "win32") {
    process.exitCode = printFailure({ type: "windows" }, false);
    return;
  }
  try {
    // Nothing was asked for: at a terminal, where one stands; elsewhere the help.
    if (process.argv.length === 2 && process.stdout.isTTY) {
      end(await (await import("./commands/where.js")).whereCommand());
      return;
    }
    await buildProgram(version).parseAsync();
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("commander.")) return;
    await sayOutsideError(error);
  }
}

/** Whatever a file system or a database can do is no bug, and needs no stack trace. */
async function sayOutsideError(error: unknown): Promise<void> {
  const { isFileSystemError } = await import("../engine/file-system.js");
  const { LineLost } = await import("../store/postgres/database.js");
  if (error instanceof LineLost) {
    const { where, message: why } = error;
    return end(printFailure({ type: "database-away", where, why }, process.argv.includes("--json")));
  }
  if (error instanceof Error && "severity" in error) {
    const { message: why } = error;
    const failure = {
      type: "usage",
      what: `The team's database refuses: ${why}.`,
      fix: "Its owner lets people in with: GRANT segno_worker TO …  (segno_viewer only looks)",
    } as const;
    return end(printFailure(failure, process.argv.includes("--json")));
  }
  if (!isFileSystemError(error)) throw error;
  const { code = "", path } = error;
  end(printFailure({ type: "file-system", code, path, run: undefined }, process.argv.includes("--json")));
}
