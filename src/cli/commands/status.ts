import { listRuns, runFolder } from "../../engine/runs.js";
import { journalPath, readJournal } from "../../store/file.js";
import { layersTable } from "../../view/context-report.js";
import { RunReport } from "../../view/report.js";
import { summaryTable } from "../../view/summary.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print.js";
import { repositoryTop } from "../top.js";

export async function statusCommand(
  run: string | undefined,
  flags: { json?: boolean; context?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const runs = listRuns(top.value);
  const id = run ?? runs[0];
  if (id === undefined || !runs.includes(id)) return printFailure({ type: "no-run", run }, json);
  const folder = runFolder(top.value, id);
  const read = readJournal(folder);
  if (!read.ok)
    return printFailure(
      { type: "journal", file: journalPath(folder), line: read.line, why: read.why, readable: read.events.length },
      json,
    );
  const report = new RunReport();
  for (const event of read.events) report.take(event);
  const { figures } = report;
  if (json) {
    const { run: id, plan, status, phases, questions } = figures;
    console.log(JSON.stringify({ run: id, plan, status, phases, ...(questions.length > 0 ? { questions } : {}) }));
  } else {
    console.log(
      `${figures.title} (${figures.plan}): ${figures.status}, run ${figures.run}\n\n${summaryTable(figures)}`,
    );
    if (flags.context === true) console.log(`\n${layersTable(figures)}`);
    for (const { id, text, choices, until } of figures.questions) {
      const answers = choices.map(({ key, name, meaning }) => `\n  ${key}  ${name.padEnd(9)} ${meaning}`);
      console.log(
        `\n? ${text}${answers.join("")}\n  answer with: segno answer ${id} <choice> (until ${until.slice(0, 16).replace("T", " ")} UTC)`,
      );
    }
  }
  return EXIT.done;
}
