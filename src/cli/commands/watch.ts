/** `watch`: the live screen of a run that another process conducts, or of one that is over. */
import { isOverAfter } from "../../view/lines.js";
import { attach } from "../attach.js";
import { EXIT } from "../exit.js";
import { type FoundRun, findRun } from "../found-run.js";
import { printFailure } from "../print-failure.js";
import { hasScreen } from "../screen.js";
import { logsCommand } from "./runs.js";

export async function watchCommand(named: string | undefined, flags: { plain?: boolean }): Promise<number> {
  const found = await findRun(named);
  if (!found.ok) return printFailure(found.failure, false);
  if (!hasScreen(flags)) return logsCommand(found.value.run, { follow: await isGoingOn(found.value) });
  await attach(found.value, { canDetach: true, untilOver: false, ownsRun: false });
  return EXIT.done;
}

async function isGoingOn({ store, run }: FoundRun): Promise<boolean> {
  const { events } = await store.read(run);
  return !events.reduce((over, event) => isOverAfter(event, over), false);
}
