/** What work cost, and would have cost with other policies: figures, a table's rows, and a page to look at. */
import type { Price } from "../context/prices.js";
import { ASSUMED, type Outcome, policiesFor, replay, type WorkedCall, withNatural } from "../context/what-if.js";
import { escapeHtml } from "./escape-html.js";
import { dollars, thousands } from "./numbers.js";

export interface Work {
  name: string;
  model: string;
  window: number;
  calls: readonly WorkedCall[];
  /** Undefined: not known; then it is counted in tokens of input. */
  price: Price | undefined;
}

export interface PolicyFigures {
  policy: string;
  /** Null where the price of a model is not known. */
  cost_usd: number | null;
  tokens: number;
  sessions: number;
  compactions: number;
  peak: number;
  /** Beside what it was: dollars where they are known, else tokens by weight. */
  ratio: number;
}

export interface WhatIf {
  sessions: { name: string; model: string; calls: number; policies: PolicyFigures[] }[];
  total: PolicyFigures[];
  assumptions: string[];
}

const tokensOf = ({ usage: { input, cacheRead, cacheWrite, output } }: Outcome): number =>
  input + cacheRead + cacheWrite + output;

const round = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;

export function whatIf(all: readonly Work[], cap: number): WhatIf {
  let guessed = 0;
  const outcomes = all.map((work) => {
    const { calls, assumed } = withNatural(work.calls);
    if (assumed) guessed++;
    return policiesFor(work.window, cap).map(({ policy }) => replay(calls, policy, work.price));
  });
  const names = policiesFor(1, cap).map(({ name }) => name);
  const figures = (some: readonly Outcome[], was: number, isPriced: boolean, policy: string): PolicyFigures => {
    const cost = some.reduce((sum, outcome) => sum + outcome.cost, 0);
    return {
      policy,
      cost_usd: isPriced ? round(cost, 4) : null,
      tokens: some.reduce((sum, outcome) => sum + tokensOf(outcome), 0),
      sessions: some.reduce((sum, outcome) => sum + outcome.sessions, 0),
      compactions: some.reduce((sum, outcome) => sum + outcome.compactions, 0),
      peak: Math.max(0, ...some.map((outcome) => outcome.peak)),
      ratio: was === 0 ? 1 : round(cost / was, 3),
    };
  };
  const sessions = all.map(({ name, model, calls, price }, n) => {
    const was = outcomes[n]?.[0]?.cost ?? 0;
    const policies = names.map((policy, k) => figures([outcomes[n]?.[k] as Outcome], was, price !== undefined, policy));
    return { name, model, calls: calls.length, policies };
  });
  const isPriced = all.every(({ price }) => price !== undefined);
  const was = outcomes.reduce((sum, [first]) => sum + (first?.cost ?? 0), 0);
  const total = names.map((policy, k) =>
    figures(
      outcomes.map((of) => of[k] as Outcome),
      was,
      isPriced,
      policy,
    ),
  );
  return { sessions, total, assumptions: assumptionsOf(guessed, all.length, isPriced) };
}

function assumptionsOf(guessed: number, of: number, isPriced: boolean): string[] {
  const { reread, answer, checkpoint, fresh } = ASSUMED;
  return [
    "Percentages are of the model's whole window, also where a run capped it (context_limit).",
    `A handover asks for a checkpoint (${answer} tokens of answer); the next session begins with ${fresh + checkpoint} tokens that are not cached, and reads ${reread} again.`,
    "What a call brought into the window stays what it was. What a compaction forgot and was done again is in what it was, and in nothing else.",
    "Only the main thread: sub-agents have windows of their own.",
    ...(guessed > 0
      ? [`In ${guessed} of ${of} nothing shows when a task was finished: as if one was after every ten calls.`]
      : []),
    ...(isPriced
      ? ["At list prices. On a flat plan it is tokens of the limit that are saved, in about the same proportion."]
      : ["The price of a model is not known: ratios are by weight, with the usual prices of cached tokens."]),
  ];
}

export const whatIfHead = ["policy", "cost", "ratio", "tokens", "sessions", "compactions", "largest prompt"];

export const whatIfRow = (figures: PolicyFigures): string[] => [
  figures.policy,
  figures.cost_usd === null ? "unknown" : dollars(figures.cost_usd),
  figures.ratio.toFixed(2),
  thousands(figures.tokens),
  String(figures.sessions),
  String(figures.compactions),
  thousands(figures.peak),
];

const BAR = 520;

/** One file that needs nothing else. */
export function whatIfPage({ sessions, total, assumptions }: WhatIf): string {
  const most = Math.max(...total.map(({ ratio }) => ratio), 1);
  const bars = total.map(({ policy, ratio, cost_usd, tokens, sessions: count }, n) => {
    const said = `${cost_usd === null ? `${thousands(tokens)} tokens` : dollars(cost_usd)} · ${ratio.toFixed(2)} · ${count} sessions`;
    const width = Math.max(2, Math.round((ratio / most) * BAR));
    return `<g transform="translate(0 ${n * 44})"><text y="14" class="name">${escapeHtml(policy)}</text><rect y="20" width="${width}" height="14" rx="3" class="${n === 0 ? "was" : policy.startsWith("auto") ? "auto" : "other"}"/><text x="${width + 8}" y="32">${escapeHtml(said)}</text></g>`;
  });
  const rows = sessions.map(({ name, model, calls, policies }) => {
    const cells = policies.map(
      ({ cost_usd, ratio }) => `<td>${cost_usd === null ? ratio.toFixed(2) : dollars(cost_usd)}</td>`,
    );
    return `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(model)}</td><td>${calls}</td>${cells.join("")}</tr>`;
  });
  const heads = total.map(({ policy }) => `<th>${escapeHtml(policy)}</th>`).join("");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>What if · Segno</title>
<style>
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5b6675;--line:#d9dee5;--bg:#fff;--was:#8a94a3;--auto:#1f7a4d;--other:#3b6fb5}
@media(prefers-color-scheme:dark){:root{--ink:#e7ebf0;--dim:#9aa5b3;--line:#2d3540;--bg:#12161c;--was:#7b8594;--auto:#3fb27a;--other:#6d9fe0}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);max-width:860px;margin:2rem auto;padding:0 1rem}
svg{width:100%;height:auto}text{fill:var(--dim);font-size:13px}.name{fill:var(--ink)}.was{fill:var(--was)}.auto{fill:var(--auto)}.other{fill:var(--other)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}th,td{border-top:1px solid var(--line);padding:.3rem .6rem;text-align:right;white-space:nowrap}th:first-child,td:nth-child(2){text-align:left}li{color:var(--dim)}
</style></head><body>
<h1>What the same work would have cost</h1>
<p>${sessions.length} ${sessions.length === 1 ? "session" : "sessions"}, ${sessions.reduce((sum, { calls }) => sum + calls, 0)} calls; beside what it was (1.00).</p>
<svg viewBox="0 0 ${BAR + 300} ${total.length * 44}" role="img" aria-label="Cost by policy">${bars.join("")}</svg>
<h2>Session by session</h2>
<div class="wide"><table><tr><th>session</th><th>model</th><th>calls</th>${heads}</tr>${rows.join("")}</table></div>
<h2>Assumed</h2><ul>${assumptions.map((text) => `<li>${escapeHtml(text)}</li>`).join("")}</ul>
</body></html>
`;
}
