/** Conducts a run, shows it, and ends with its exit code. */
import { isFileSystemError } from "../engine/file-system.js";
import type { HeldRun } from "../engine/held-run.js";
import type { RunState } from "../run/state.js";
import type { RunView } from "../view/board.js";
import { forecastReport } from "../view/context-report.js";
import { failureLines } from "../view/failure.js";
import { figuresOf, type RunFigures } from "../view/report.js";
import { summaryTable } from "../view/summary.js";
import { attach } from "./attach.js";
import { isInBackground, sayRun } from "./background.js";
import { openInBrowser } from "./browser.js";
import { countDown } from "./countdown.js";
import { EXIT } from "./exit.js";
import { printFailure } from "./print-failure.js";
import { askAtTerminal } from "./questions.js";
import type { Signals } from "./signals.js";
import { stopInTime } from "./until.js";

export interface ConductOptions {
  json: boolean;
  /** Print the link of the page, and open it. */
  dashboard?: boolean | undefined;
  /** Show the live screen in this process: for runs that cannot outlive it. */
  screen?: boolean | undefined;
}

export async function conduct(
  held: HeldRun,
  view: RunView,
  signals: Signals,
  { json, dashboard, screen }: ConductOptions,
): Promise<number> {
  signals.conducting(held);
  // A server and all it needs: only for who conducts.
  const { conductRun } = await import("../engine/conduct.js");
  const { mountPage } = await import("../web/routes.js");
  const { Runs } = await import("../web/runs.js");
  view.follow(() => held.run.state);
  const { store, top } = held;
  const { run } = held.run.state;
  held.page = (app) => mountPage(app, new Runs(store, held.git), run);
  const quiet = json || screen === true || isInBackground();
  askAtTerminal(held, quiet);
  const counting = countDown(held, quiet);
  const notInTime = stopInTime(held);
  let watched: Promise<unknown> | undefined;
  const over = new AbortController();
  try {
    await conductRun(held, ({ link }) => {
      sayRun(run);
      if (screen === true)
        watched = attach({ store, run, top }, { canDetach: false, untilOver: true, ownsRun: true, gone: over.signal });
      if (dashboard !== true || json) return;
      if (screen !== true) console.log(`web page    ${link}`);
      if (process.stdout.isTTY) void openInBrowser(link);
    });
  } catch (error) {
    notInTime();
    counting.stop();
    over.abort();
    await watched;
    if (!isFileSystemError(error)) throw error;
    const { code = "", path } = error;
    printFailure(
      code === "ENOSPC" || code === "EDQUOT" ? { type: "disk-full", run } : { type: "file-system", code, path, run },
      json,
    );
    return EXIT.stopped;
  }
  notInTime();
  counting.stop();
  await watched;
  const { board } = view;
  if (!json && board !== undefined) printSummary(figuresOf(board), { top, journal: store.where(run) });
  const { status, plan } = held.run.state;
  if (!json && status === "completed" && plan.afterwards !== undefined) console.log(`afterwards  ${plan.afterwards}`);
  return exitCode(held.run.state);
}

export function exitCode({ status, phases }: RunState): number {
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

/** How it went, phase by phase, and where to look. */
export function printSummary(figures: RunFigures, { top, journal }: { top: string; journal: string }): void {
  console.log(`\n${summaryTable(figures, process.stdout.columns)}\n`);
  for (const phase of figures.phases) {
    if (phase.failure !== undefined) console.log(`${failureLines(phase, figures).join("\n")}\n`);
  }
  const forecasts = figures.mode === "rehearsal" ? [] : forecastReport(figures);
  if (forecasts.length > 0) console.log(`Forecast against truth:\n  ${forecasts.join("\n  ")}\n`);
  console.log(`repository  ${top}`);
  console.log(`journal     ${journal}`);
  if (figures.status === "running" || figures.status === "paused")
    console.log("It was interrupted: nobody conducts it now.");
  if (figures.status !== "completed")
    console.log(
      figures.mode === "rehearsal"
        ? "go on with  nothing: a rehearsal is begun anew, its stand-in model is gone"
        : `go on with  segno resume ${figures.run}`,
    );
}
