// Over the real growth of 501 public sessions (numbers only: bench/data): what the same work costs when it is handed over
// by each policy, in dollars, at a window of a million; in how many sessions the default is worse than never handing over,
// and by how much at most; and which cap in tokens is the cheapest where nothing natural ever comes.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { priceOf as known } from "../build/agents/claude/models.js";
import { DEFAULT_CAP } from "../build/context/policy.js";
import { listPrice } from "../build/context/prices.js";
import { ASSUMED, replay } from "../build/context/what-if.js";
import { table } from "./measure.mjs";

const priceOf = (model) => known(model) ?? listPrice(3, 15);
const WINDOW = 1_000_000;
/** What a task takes, where no person's message says that something was finished. */
const CALLS_PER_TASK = 10;

const lines = gunzipSync(readFileSync(new URL("./data/context-growth.csv.gz", import.meta.url)))
  .toString()
  .trim()
  .split("\n");
const columns = lines[0].split(",");
const at = Object.fromEntries(columns.map((name, index) => [name, index]));
const sessions = new Map();
for (const line of lines.slice(1)) {
  const cells = line.split(",");
  const calls = sessions.get(cells[at.session]) ?? [];
  sessions.set(cells[at.session], calls);
  const prompt = Number(cells[at.prompt_tokens]);
  const before = calls.at(-1)?.prompt ?? 0;
  // Of the prompt the numbers tell only the sum: all but the growth was read from the cache.
  const cacheRead = calls.length === 0 ? Math.round(prompt * 0.8) : Math.min(prompt, before);
  const said = Number(cells[at.before_user_chars] || 0) > 0;
  const since = calls.length - (calls.findLastIndex(({ natural }) => natural) + 1);
  calls.push({
    prompt,
    model: cells[at.model],
    usage: { input: 0, cacheRead, cacheWrite: prompt - cacheRead, output: Number(cells[at.output_tokens]) || 300 },
    natural: (said && calls.length > 0) || since >= CALLS_PER_TASK - 1,
    compacted: cells[at.before_compaction_pre_tokens] !== "",
  });
}

const POLICIES = [
  ["never handed over", { type: "never" }],
  ["at 80 % of a million", { type: "at", tokens: 0.8 * WINDOW, natural: false }],
  ["at 65 % of a million, after a task", { type: "at", tokens: 0.65 * WINDOW, natural: true }],
  ["at 80 % of 200,000", { type: "at", tokens: 160_000, natural: false }],
  ["at 65 % of 200,000, after a task", { type: "at", tokens: 130_000, natural: true }],
  ["auto (default)", { type: "auto", cap: DEFAULT_CAP }],
  ["a session per task", { type: "each-task" }],
];

/** One piece of work as long as several sessions one after the other: what a phase that runs for hours looks like. */
function chained(length) {
  const all = [...sessions.values()].filter((calls) => calls.length > 10);
  const chains = [];
  let chain = [];
  for (const calls of all) {
    // What a session began with is there already.
    const offset = chain.length === 0 ? 0 : chain.at(-1).prompt - calls[0].prompt;
    for (const call of calls) {
      const prompt = Math.max(call.prompt + offset, chain.at(-1)?.prompt ?? 0);
      const before = chain.at(-1)?.prompt ?? 0;
      const cacheRead = chain.length === 0 ? call.usage.cacheRead : before;
      const usage = { ...call.usage, cacheRead, cacheWrite: prompt - cacheRead };
      chain.push({ ...call, prompt, usage, compacted: false });
    }
    if (chain.length >= length) {
      chains.push(chain);
      chain = [];
    }
  }
  return chains;
}

function compare(title, all) {
  const rows = [];
  let base;
  const never = all.map((calls) => replay(calls, { type: "never" }, priceOf(calls[0].model)));
  for (const [name, policy] of POLICIES) {
    for (const reread of policy.type === "auto" ? [2_000, 20_000] : [2_000]) {
      const assumed = { ...ASSUMED, reread };
      const outcomes = all.map((calls) => replay(calls, policy, priceOf(calls[0].model), assumed));
      const cost = outcomes.reduce((sum, outcome) => sum + outcome.cost, 0);
      const tokens = outcomes.reduce(
        (sum, { usage }) => sum + usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
        0,
      );
      base ??= { cost, tokens };
      const worse = outcomes.map((outcome, n) => outcome.cost / never[n].cost).filter((ratio) => ratio > 1.0001);
      rows.push([
        reread === 2_000 ? name : `${name}, ${reread / 1_000}k read again each time`,
        `$${cost.toFixed(0)}`,
        (cost / base.cost).toFixed(3),
        (tokens / base.tokens).toFixed(3),
        String(outcomes.reduce((sum, outcome) => sum + outcome.sessions, 0)),
        `${worse.length} of ${all.length}`,
        worse.length === 0 ? "–" : `${((Math.max(...worse) - 1) * 100).toFixed(1)} %`,
      ]);
    }
  }
  console.log(`\n${title}`);
  console.log(table(["policy", "cost", "ratio", "tokens", "sessions", "worse than never in", "at most by"], rows));
}

const singles = [...sessions.values()];
compare(`economy: ${singles.length} sessions as long as they were`, singles);
const long = chained(400);
compare(`economy: ${long.length} pieces of work of 400 calls and more`, long);

console.log("\nwhere nothing natural comes: the cap alone, in pieces of 400 calls and more");
const caps = [60, 80, 100, 120, 150, 200, 300, 400, 600, 800].map((thousand) => {
  const cost = (reread) =>
    long.reduce((sum, calls) => {
      const policy = { type: "at", tokens: thousand * 1_000, natural: false };
      return sum + replay(calls, policy, priceOf(calls[0].model), { ...ASSUMED, reread }).cost;
    }, 0);
  const base = long.reduce((sum, calls) => sum + replay(calls, { type: "never" }, priceOf(calls[0].model)).cost, 0);
  return [`${thousand}k`, (cost(2_000) / base).toFixed(3), (cost(20_000) / base).toFixed(3)];
});
console.log(table(["cap", "cost, 2k read again", "cost, 20k read again"], caps));
