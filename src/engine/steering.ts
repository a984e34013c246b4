/** What a person may ask of a run, from wherever: said through the door of whoever holds it, or written where anybody may write. */
import { isOver } from "../run/phase.js";
import { stateOfPhase } from "../run/state.js";
import { redactor } from "../secrets/redact.js";
import type { Store } from "../store/store.js";
import { askHolder } from "./ask-holder.js";
import { LiveRun } from "./live-run.js";
import { answerQuestion } from "./questions.js";

export type Said = string | { missing: string };
type Steer = (run: LiveRun, body: Record<string, unknown>) => Promise<Said>;

const stoppingText = (run: string): string =>
  `Stopping: the running tool finishes, a checkpoint is saved; once more ends it at once. Go on with: segno resume ${run}`;
export const endingText = (run: string): string =>
  `Ending now, with everything it started. Go on with: segno resume ${run}`;

export const STEERS = {
  pause: async (run) => {
    if (run.state.hold === undefined) await run.record({ type: "run-held", hold: "paused", by: "segno pause" });
    return "Paused: the running tool finishes, then nothing begins until `segno continue`.";
  },
  continue: async (run) => {
    if (run.state.hold !== undefined) await run.record({ type: "run-released", hold: "paused", by: "segno continue" });
    return "The run goes on.";
  },
  stop: async (run) => {
    if (run.state.stopping?.cause !== "asked")
      await run.record({ type: "stop-requested", by: "segno stop", cause: "asked" });
    return stoppingText(run.state.run);
  },
  skip: (run, { phase }) => skipPhase(run, String(phase)),
  answer: (run, { question, answer }) =>
    answerQuestion(run, question === undefined ? undefined : String(question), String(answer), "segno answer"),
} as const satisfies Record<string, Steer>;

export type SteerName = keyof typeof STEERS;

export async function skipPhase(run: LiveRun, phase: string): Promise<Said> {
  if (!run.state.phases.has(phase)) {
    return { missing: `There is no phase ${phase}; phases: ${[...run.state.phases.keys()].join(", ")}.` };
  }
  const state = stateOfPhase(run.state, phase);
  if (isOver(state) && state.step !== "failed") return { missing: `Phase ${phase} is ${state.step} already.` };
  await run.record({ type: "skip-requested", phase, by: "segno skip" });
  return `Phase ${phase} is skipped; phases that depend on it may begin.`;
}

/** Asks it of a run that is in progress, wherever it is. */
export async function askRun(
  store: Store,
  run: string,
  act: SteerName,
  body: Record<string, unknown>,
): Promise<{ ok: boolean; message: string }> {
  const open = await store.steer(run, redactor(process.env));
  if (open === undefined) {
    const door = (await store.holder(run)) === undefined ? undefined : await store.address(run);
    return door === undefined ? { ok: false, message: "Nobody conducts this run now." } : askHolder(door, act, body);
  }
  const live = new LiveRun(open.journal, open.events);
  try {
    if (live.state.status !== "running") return { ok: false, message: `The run is ${live.state.status} already.` };
    if (act === "stop" && live.state.stopping?.cause === "asked") {
      // Nobody's process is this run: that it is over ends everybody's part of it.
      await live.record({ type: "run-stopped", why: "asked to stop at once" });
      return { ok: true, message: endingText(run) };
    }
    const steer: Steer = STEERS[act];
    const said = await steer(live, body);
    return typeof said === "string" ? { ok: true, message: said } : { ok: false, message: said.missing };
  } finally {
    await live.close();
  }
}
