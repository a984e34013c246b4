/** `run` and `resume` at a terminal: the run in a process of its own, and the live screen watching it. */
import { setTimeout as sleep } from "node:timers/promises";
import { readRun } from "../engine/resume.js";
import { revivalOf } from "../run/revival.js";
import { FileStore } from "../store/file.js";
import type { Store } from "../store/store.js";
import { RunView } from "../view/board.js";
import { figuresOf } from "../view/report.js";
import { isTerminal } from "./ask.js";
import { attach } from "./attach.js";
import { type AttendedFlags, attendedBy } from "./attended.js";
import { isInBackground, startInBackground } from "./background.js";
import { openInBrowser } from "./browser.js";
import { exitCode, printSummary } from "./conduct.js";
import { EXIT } from "./exit.js";

export interface ScreenFlags extends AttendedFlags {
  plain?: boolean;
  detach?: boolean;
  dashboard?: boolean;
}

/** Whether the live screen can be shown here. */
export const hasScreen = ({ json, plain }: ScreenFlags): boolean =>
  isTerminal(json === true) && plain !== true && process.env.TERM !== "dumb" && !isInBackground();

export const goesToBackground = (flags: ScreenFlags): boolean =>
  !isInBackground() && (flags.detach === true || hasScreen(flags));

/** Repeats this command in the background, with what was decided here added, and watches it. */
export async function runInBackground(
  top: string,
  flags: ScreenFlags,
  added: readonly string[],
  env: Record<string, string> = {},
): Promise<number> {
  const args = [...process.argv.slice(2).filter((arg) => arg !== "--detach" && arg !== "--dashboard"), ...added];
  const attended = flags.detach !== true && attendedBy(flags) === "here" ? { SEGNO_ATTENDED: "1" } : {};
  const begun = await startInBackground(args, { ...env, ...attended });
  if (!begun.ok) return begun.code;
  const { run, exited, release } = begun;
  const goesOn = (): number => {
    release();
    if (flags.json === true) console.log(JSON.stringify({ run }));
    else
      console.log(
        `Run ${run} goes on in the background.\n  segno watch ${run}   the live screen\n  segno status        how it stands\n  segno stop          stop it gracefully`,
      );
    return EXIT.done;
  };
  const store = new FileStore(top);
  const door = flags.dashboard === true ? await store.address(run) : undefined;
  if (door !== undefined) {
    const link = `${door.url}/?token=${door.token}`;
    if (flags.json !== true) console.log(`web page    ${link}`);
    if (process.stdout.isTTY) void openInBrowser(link);
  }
  if (flags.detach === true) return goesOn();
  const gone = new AbortController();
  const over = exited.then(() => revivalsOver(store, run));
  void over.then(() => gone.abort());
  const { left } = await attach(
    { store, run, top },
    { canDetach: true, untilOver: true, ownsRun: true, gone: gone.signal },
  );
  if (left === "detached") return goesOn();
  if (left === "killed") {
    release();
    console.log(`Run ${run} was ended at once. Go on with: segno resume ${run}`);
    return EXIT.interrupted;
  }
  const code = await exited;
  const revived = await over;
  const view = new RunView();
  for (const event of (await store.read(run)).events) view.take(event);
  if (view.board !== undefined) printSummary(figuresOf(view.board), { top, journal: store.where(run) });
  return revived && view.folded !== undefined ? exitCode(view.folded.state) : code;
}

/** How long a dead conductor's warden may take until somebody else conducts the run. */
const REVIVED_WITHIN_MS = 30_000;
const LOOK_MS = 250;

/** Resolves when nobody conducts the run and nobody will: whoever died may be followed by another. Whether one was. */
async function revivalsOver(store: Store, run: string): Promise<boolean> {
  let revived = false;
  for (let waited = 0; waited < REVIVED_WITHIN_MS; waited += LOOK_MS) {
    const read = await readRun(store, run);
    if (!read.ok || revivalOf(read.value.state, read.value.events, new Date().toISOString()).type === "leave") break;
    while ((await store.holder(run)) !== undefined) {
      revived = true;
      waited = 0;
      await sleep(LOOK_MS);
    }
    await sleep(LOOK_MS);
  }
  return revived;
}
