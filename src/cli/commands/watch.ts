/** `watch`: the live screen of a run that another process conducts, or of one that is over. */
import { followJournal } from "../../store/follow.js";
import { isOverAfter } from "../../view/lines.js";
import { attach } from "../attach.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printFailure } from "../print.js";
import { hasScreen } from "../screen.js";
import { logsCommand } from "./runs.js";

export async function watchCommand(named: string | undefined, flags: { plain?: boolean }): Promise<number> {
  const found = await findRun(named);
  if (!found.ok) return printFailure(found.failure, false);
  if (!hasScreen(flags)) return logsCommand(found.value.run, { follow: isGoingOn(found.value.folder) });
  await attach(found.value.folder, { canDetach: true, untilOver: false, ownsRun: false });
  return EXIT.done;
}

function isGoingOn(folder: string): boolean {
  let over = false;
  followJournal(folder, (events) => {
    for (const event of events) over = isOverAfter(event, over);
  }).stop();
  return !over;
}
