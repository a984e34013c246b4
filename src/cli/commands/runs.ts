/** `runs` and `logs`: what was run here, and what happened in it. */

import { Git } from "../../git/git.js";
import { pastRehearsals } from "../../rehearsal/past.js";
import type { RunEvent } from "../../run/event.js";
import { FileStore } from "../../store/file.js";
import { isOverAfter, lineOf } from "../../view/lines.js";
import { thousands } from "../../view/numbers.js";
import { table } from "../../view/table.js";
import { Runs } from "../../web/runs.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printFailure } from "../print-failure.js";
import { sayAway, storeHere } from "../store-here.js";
import { repositoryTop } from "../top.js";

export async function runsCommand(flags: { json?: boolean; rehearsals?: boolean }): Promise<number> {
  const json = flags.json === true;
  if (flags.rehearsals === true) return listRehearsals(json);
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const { store, away } = await storeHere(top.value, flags);
  const rows = await new Runs(store, new Git(top.value)).list();
  if (rows.length === 0 && away !== undefined) return printFailure(away, json);
  sayAway(away);
  if (json) console.log(JSON.stringify(rows));
  else if (rows.length === 0) console.log("No run yet. Begin one with: segno run PLAN.md");
  else
    console.log(
      table(
        ["run", "plan", "state", "phases", "tokens", "cost", "last event"],
        rows.map((row) => [
          row.run,
          row.title.slice(0, 40),
          row.live ? row.status : row.status === "running" ? "interrupted" : row.status,
          `${row.phases.done}/${row.phases.total}`,
          thousands(row.tokens),
          row.cost_usd === undefined ? "unknown" : `$${row.cost_usd.toFixed(2)}`,
          `${row.last.at.slice(0, 16).replace("T", " ")} ${row.last.text.slice(0, 40)}`,
        ]),
      ),
    );
  return away === undefined ? EXIT.done : EXIT.tryAgain;
}

async function listRehearsals(json: boolean): Promise<number> {
  const past = await Promise.all(
    pastRehearsals().map(async ({ repository }) => {
      const [row] = await new Runs(new FileStore(repository), new Git(repository)).list();
      return row === undefined ? [] : [{ ...row, repository }];
    }),
  );
  const rows = past.flat();
  if (json) console.log(JSON.stringify(rows));
  else if (rows.length === 0) console.log("No rehearsal is left. Begin one with: segno rehearse PLAN.md");
  else
    console.log(
      table(
        ["run", "plan", "state", "phases", "repository"],
        rows.map(({ run, title, status, phases, repository }) => [
          run,
          title.slice(0, 40),
          status,
          `${phases.done}/${phases.total}`,
          repository,
        ]),
      ),
    );
  return EXIT.done;
}

export interface LogsFlags {
  phase?: string;
  follow?: boolean;
  json?: boolean;
}

export async function logsCommand(named: string | undefined, flags: LogsFlags): Promise<number> {
  const found = await findRun(named, flags);
  if (!found.ok) return printFailure(found.failure, flags.json === true);
  const print = (event: RunEvent): void => {
    if (flags.phase !== undefined && !("phase" in event && event.phase === flags.phase)) return;
    if (flags.json === true) return console.log(JSON.stringify(event));
    const line = event.type === "tool-finished" ? toolLine(event) : lineOf(event);
    if (line === undefined) return;
    console.log(
      `${event.at.slice(0, 19).replace("T", " ")}  ${(line.phase ?? "").padEnd(4)} ${line.symbol} ${line.text}`,
    );
  };
  const { store, run } = found.value;
  if (flags.follow !== true) {
    const read = await store.read(run);
    for (const event of read.events) print(event);
    if (read.ok) return EXIT.done;
    const { where: file, line, why, events } = read;
    return printFailure({ type: "journal", file, line, why, readable: events.length }, flags.json === true);
  }
  let over = false;
  let done = () => {};
  const ended = new Promise<void>((resolve) => {
    done = resolve;
  });
  process.once("SIGINT", () => done());
  const watching = await store.watch(run, (events) => {
    for (const event of events) {
      print(event);
      over = isOverAfter(event, over);
    }
    if (over) done();
  });
  await ended;
  watching.stop();
  return EXIT.done;
}

const toolLine = (event: Extract<RunEvent, { type: "tool-finished" }>) => ({
  symbol: event.ok ? "·" : "✗",
  phase: event.phase,
  text: `${event.tool} ${event.brief}`,
});
