/** What work cost and would have cost: of transcripts, or of a run of this repository. */
import { writeFileSync } from "node:fs";
import { agentEntry } from "../agents/registry.js";
import { DEFAULT_CAP } from "../context/policy.js";
import { table } from "../view/table.js";
import { type Work, whatIf, whatIfHead, whatIfPage, whatIfRow } from "../view/what-if.js";
import { workedPhases } from "../view/worked-calls.js";
import { EXIT } from "./exit.js";
import { findRun } from "./found-run.js";
import { printFailure } from "./print-failure.js";

export interface WhatIfFlags {
  json?: boolean;
  html?: string;
}

/** Undefined: the newest. */
export async function whatIfOfRun(named: string | undefined, flags: WhatIfFlags): Promise<number> {
  const json = flags.json === true;
  const found = await findRun(named);
  if (!found.ok) return printFailure(found.failure, json);
  const { store, run } = found.value;
  const { events } = await store.read(run);
  const [started] = events;
  const name = started?.type === "run-started" ? started.config.agent : "claude";
  const agent = await agentEntry(name)?.load({ whose: "user", env: process.env });
  const work = workedPhases(events).map(
    ({ phase, model, window, calls }): Work => ({
      name: `phase ${phase}`,
      model,
      window,
      calls,
      price: agent?.priceOf(model),
    }),
  );
  if (work.length === 0) {
    const what = `Run ${run} made no model call.`;
    return printFailure(
      { type: "usage", what, fix: "Name a transcript: segno meter --what-if ~/.claude/projects" },
      json,
    );
  }
  return showWhatIf(work, flags);
}

const MOST_SESSIONS = 12;

export function showWhatIf(work: readonly Work[], { json, html }: WhatIfFlags): number {
  const figures = whatIf(work, DEFAULT_CAP);
  if (html !== undefined) writeFileSync(html, whatIfPage(figures));
  if (json === true) {
    console.log(JSON.stringify(figures));
    return EXIT.done;
  }
  const calls = work.reduce((sum, each) => sum + each.calls.length, 0);
  console.log(`${work.length} ${work.length === 1 ? "session" : "sessions"}, ${calls} calls\n`);
  console.log(table(whatIfHead, figures.total.map(whatIfRow)));
  const dearest = figures.sessions.toSorted((a, b) => (b.policies[0]?.tokens ?? 0) - (a.policies[0]?.tokens ?? 0));
  if (dearest.length > 1) {
    const names = figures.total.map(({ policy }) => policy);
    const rows = dearest
      .slice(0, MOST_SESSIONS)
      .map(({ name, policies }) => [name, ...policies.map((of) => whatIfRow(of)[of.cost_usd === null ? 2 : 1] ?? "")]);
    const more = dearest.length - rows.length;
    console.log(`\n${table(["session", ...names], rows)}${more > 0 ? `\nand ${more} more (--json has them all)` : ""}`);
  }
  console.log(`\nAssumed:\n${figures.assumptions.map((text) => `- ${text}`).join("\n")}`);
  if (html !== undefined) console.log(`\n${html}`);
  return EXIT.done;
}
