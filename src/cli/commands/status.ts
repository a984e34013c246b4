import { RunView } from "../../view/board.js";
import { layersTable } from "../../view/context-report.js";
import { failureLines } from "../../view/failure.js";
import { figuresOf } from "../../view/report.js";
import { summaryTable } from "../../view/summary.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printAsked } from "../print-asked.js";
import { printFailure } from "../print-failure.js";

export async function statusCommand(
  run: string | undefined,
  flags: { json?: boolean; context?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const found = await findRun(run, flags);
  if (!found.ok) return printFailure(found.failure, json);
  const { store, run: named } = found.value;
  const read = await store.read(named);
  if (!read.ok) {
    const { where: file, line, why, events } = read;
    return printFailure({ type: "journal", file, line, why, readable: events.length }, json);
  }
  const view = new RunView();
  for (const event of read.events) view.take(event);
  if (view.board === undefined)
    return printFailure({ type: "nothing-to-resume", run: named, why: "its journal is empty" }, json);
  const figures = figuresOf(view.board);
  const goesOn = figures.status === "running" || figures.status === "paused";
  // Whoever conducted it died, and nobody has taken it up.
  const isHeld = !goesOn || (await store.holder(named)) !== undefined;
  const waits = !isHeld && (await store.waitsForAnyone(named));
  const interrupted = !isHeld && !waits;
  if (json) {
    const { run: id, plan, status, phases, questions } = figures;
    const asked = questions.length > 0 ? { questions } : {};
    console.log(JSON.stringify({ run: id, plan, status, interrupted, phases, ...asked }));
  } else {
    console.log(
      `${figures.title} (${figures.plan}): ${interrupted ? "interrupted" : figures.status}, run ${figures.run}\n\n${summaryTable(figures, process.stdout.columns)}`,
    );
    if (waits) console.log("\nNobody conducts it now: it waits for a worker. Start one, on any machine: segno worker");
    if (interrupted) console.log(`\nNobody conducts it any more. Go on with: segno resume ${figures.run}`);
    for (const phase of figures.phases)
      if (phase.failure !== undefined) console.log(`\n${failureLines(phase, figures).join("\n")}`);
    if (flags.context === true) console.log(`\n${layersTable(figures)}`);
    const of = figures.questions.length;
    for (const [index, question] of figures.questions.entries()) printAsked(question, { n: index + 1, of });
  }
  return EXIT.done;
}
