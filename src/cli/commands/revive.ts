/** What the warden starts when a run's process died in the middle: it goes on, or is told why not. Not for people. */
import { CRASH_NOTE } from "../../engine/conduct.js";
import { appendToRun, readRun } from "../../engine/resume.js";
import type { Fact } from "../../run/event.js";
import { lastAttempt } from "../../run/phase.js";
import { isSatisfied } from "../../run/readiness.js";
import { revivalOf } from "../../run/revival.js";
import type { RunState } from "../../run/state.js";
import { FileStore } from "../../store/file.js";
import type { Store } from "../../store/store.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { readSettings } from "../settings.js";
import { repositoryTop } from "../top.js";
import { goOn } from "./resume.js";

const CAUSES: Record<string, string> = {
  killed: "its process was killed",
  memory: "the machine had no memory left, and ended it",
};

export async function reviveCommand(run: string, how: string): Promise<number> {
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, false);
  const store = new FileStore(top.value);
  // Somebody was faster.
  if ((await store.holder(run)) !== undefined) return EXIT.done;
  const read = await readRun(store, run);
  if (!read.ok) return printFailure(read.failure, false);
  const { state, events } = read.value;
  const revival = revivalOf(state, events, new Date().toISOString());
  if (revival.type === "leave") return EXIT.done;
  const crash = await crashOf(store, run, events.at(-1)?.at ?? "");
  const cause = crash === undefined ? (CAUSES[how] ?? how) : `Segno itself failed: ${crash}`;
  if (revival.type === "fail") {
    await appendToRun(store, run, (held) => held.record(...crashed(state, `${revival.why}: ${cause}.`)));
    return EXIT.failed;
  }
  const settings = await readSettings(process.cwd(), {});
  if (!settings.ok) return printFailure(settings.failure, false);
  return goOn(
    store,
    top.value,
    { run, state },
    { ...settings.value, config: state.config },
    {
      plain: true,
      ...(state.attended ? { attended: true } : {}),
      revived: { times: revival.times, cause },
    },
  );
}

/** What was under way when it died fails with that; where nothing was, whatever would have come next. */
function crashed(state: RunState, message: string): Fact[] {
  const open = [...state.phases].filter(([, phase]) => !isSatisfied(phase)).map(([id]) => id);
  const { underWay } = state.readiness;
  const failing = underWay.size > 0 ? [...underWay] : open.slice(0, 1);
  return [
    ...failing.map(
      (phase): Fact => ({
        type: "phase-failed",
        phase,
        attempt: lastAttempt(state.phases.get(phase))?.number ?? 1,
        category: "crashed",
        message,
        recommendation: "halt",
      }),
    ),
    { type: "run-failed", phases: open },
  ];
}

/** The first line of what a crash of ours left, if it did so after the last event. */
async function crashOf(store: Store, run: string, since: string): Promise<string | undefined> {
  const note = await store.note(run, CRASH_NOTE);
  return note === undefined || note.at < since ? undefined : note.text.split("\n")[0];
}
