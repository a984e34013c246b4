/** What the phases of a plan will need here, and what they needed. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/schema.js";
import { type Forecast, forecastPlan, type Learned } from "../context/forecast.js";
import type { Price } from "../context/prices.js";
import { roughTokens } from "../handover/bounded.js";
import { firstView, workPrompt } from "../handover/prompts.js";
import type { Phase, Plan } from "../plan/model.js";
import type { HeldRun } from "./held-run.js";
import { isInside } from "./plan-files.js";

/** No more of a file than an agent reads at once. */
const MOST_OF_A_FILE = 25_000;
const CHARS_PER_TOKEN = 3;

export function forecastOf(
  plan: Plan,
  phases: readonly Phase[],
  top: string,
  config: Config,
  learned: Learned,
  priceOf: (model: string) => Price | undefined,
  flags: { quality?: boolean; force?: boolean } = {},
): Forecast {
  const shapes = phases.map((phase) => ({
    id: phase.id,
    tasks: phase.tasks.filter((task) => flags.force === true || !task.ticked),
    complexity: phase.complexity,
    prompt: roughTokens(workPrompt(firstView(plan, phase)).text),
    files: namedFiles(phase).reduce((sum, path) => sum + tokensOfFile(top, path), 0),
    judged: config.verify === "ungated" && phase.gates.length === 0,
  }));
  return forecastPlan(shapes, config, learned, flags, priceOf);
}

const namedFiles = ({ files, readFirst }: Phase): string[] => [...new Set([...readFirst, ...files])];

function tokensOfFile(top: string, path: string): number {
  const full = join(top, path);
  if (!isInside(top, full) || !existsSync(full) || !statSync(full).isFile()) return 0;
  return Math.min(MOST_OF_A_FILE, Math.round(statSync(full).size / CHARS_PER_TOKEN));
}

/** Remembers, phase by phase, what a forecast can be made of next time. */
export function learnFrom({ run, crew, store }: HeldRun): void {
  run.onEvent((event) => {
    if (event.type !== "phase-done") return;
    const { state } = run;
    // What its parts did is learned from them.
    if ([...state.parents.values()].includes(event.phase)) return;
    const sessions = [...state.sessions.values()].filter((session) => session.phase === event.phase);
    const last = sessions.findLast((session) => session.firstPrompt !== undefined);
    if (last?.model === undefined) return;
    // Windows, prompts and ratios are the agent's own: of several, the last one's are learned.
    const begun = sessions.filter(({ agent, firstPrompt }) => agent === last.agent && firstPrompt !== undefined);
    const sum = (pick: (session: (typeof begun)[number]) => number) =>
      begun.reduce((total, session) => total + pick(session), 0);
    const learned = store.learn(crew.of(last.agent).name, {
      firstPrompts: begun.map((session) => session.firstPrompt ?? 0),
      repairs: begun
        .filter(({ issues }) => issues > 0)
        .map(({ lastTokens, firstPrompt, issues }) =>
          Math.round(Math.max(0, lastTokens - (firstPrompt ?? 0)) / issues),
        ),
      rereads: begun.flatMap(({ reread }, index) => (index === 0 || reread === undefined ? [] : [reread])),
      samples: [
        {
          tasks: event.tasksDone.length,
          calls: sum((session) => session.calls),
          growth: sum((session) => Math.max(0, session.lastTokens - (session.firstPrompt ?? 0))),
          output: sum((session) => session.usage.output),
          model: last.model,
          window: last.window,
        },
      ],
    });
    // It only ever helps: a run does not end for it.
    learned.catch(() => {});
  });
}
