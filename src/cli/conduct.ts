/** Conducts a run, shows it, and ends with its exit code. */
import { conductRun } from "../engine/conduct.js";
import type { World } from "../engine/world.js";
import type { RunState } from "../run/state.js";
import { journalPath } from "../store/file.js";
import { forecastReport } from "../view/context-report.js";
import type { RunReport } from "../view/report.js";
import { summaryTable } from "../view/summary.js";
import { countDown } from "./countdown.js";
import { EXIT } from "./exit.js";
import { printFailure } from "./print.js";
import { askAtTerminal } from "./questions.js";
import type { Signals } from "./signals.js";

export async function conduct(world: World, report: RunReport, signals: Signals, json: boolean): Promise<number> {
  signals.conducting(world);
  askAtTerminal(world, json);
  const counting = countDown(world, json);
  try {
    await conductRun(world);
  } catch (error) {
    counting.stop();
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    printFailure({ type: "disk-full", run: world.run.state.run }, json);
    return EXIT.stopped;
  }
  counting.stop();
  if (!json) printEnd(world, report);
  return exitCode(world.run.state);
}

function exitCode({ status, phases }: RunState): number {
  switch (status) {
    case "completed":
      return EXIT.done;
    case "stopped":
    case "running":
      return EXIT.stopped;
    case "failed": {
      const failures = [...phases.values()].flatMap((phase) =>
        phase.step === "failed" ? [phase.failure.category] : [],
      );
      return failures.length > 0 && failures.every((category) => category === "human_needed")
        ? EXIT.human
        : EXIT.failed;
    }
    default:
      return status satisfies never;
  }
}

function printEnd({ run }: World, report: RunReport): void {
  const { figures } = report;
  console.log(`\n${summaryTable(figures)}\n`);
  for (const phase of figures.phases) {
    if (phase.failure === undefined) continue;
    console.log(`Phase ${phase.id} failed (${phase.failure.category}): ${phase.failure.message}`);
    console.log(`Recommended: ${phase.failure.recommendation}\n`);
  }
  const forecasts = run.state.mode === "rehearsal" ? [] : forecastReport(figures);
  if (forecasts.length > 0) console.log(`Forecast against truth:\n  ${forecasts.join("\n  ")}\n`);
  console.log(`repository  ${run.state.top}`);
  console.log(`journal     ${journalPath(run.folder)}`);
  if (run.state.status !== "completed") console.log(`go on with  segno resume ${run.state.run}`);
}
