// A phase of 60 equal tasks of about 7,500 tokens, through plain `claude -p` and through Segno with its policies: what
// each way costs. Real Claude Code in each, the stand-in model, a window of 200,000.
import { spawn } from "node:child_process";
import { priceOf } from "../build/agents/claude/models.js";
import { costAt } from "../build/context/prices.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, CLAUDE, planOf, repository, SEGNO, table } from "./measure.mjs";

const TASKS = Number(process.env.TASKS ?? 60);
const CHARS = 21_500;
const MODEL = "claude-sonnet-4-5";

async function measure(start, remembers = 1) {
  const done = new Map();
  const sum = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, calls: 0 };
  const standIn = await startStandIn({
    window: 200_000,
    behaviour: worker({
      charsPerTask: CHARS,
      remembers,
      onTask: ({ task }) => done.set(task, (done.get(task) ?? 0) + 1),
      onRefused: ({ task }) => done.set(task, (done.get(task) ?? 1) - 1),
    }),
    onExchange: ({ usage }) => {
      sum.input += usage.input_tokens;
      sum.cacheRead += usage.cache_read_input_tokens;
      sum.cacheWrite += usage.cache_creation_input_tokens;
      sum.output += usage.output_tokens;
      sum.calls++;
    },
  });
  const cwd = repository(planOf(TASKS));
  const began = Date.now();
  const text = await start(cwd, agentEnv(standIn.url));
  const seconds = (Date.now() - began) / 1_000;
  await standIn.close();
  const events = text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  const redone = [...done.values()].reduce((total, times) => total + times - 1, 0);
  const sessions = events.filter((event) => event.type === "session-started").length || 1;
  const compactions = events.filter(
    (event) => event.type === "compacted" || event.subtype === "compact_boundary",
  ).length;
  return { ...sum, redone, lost: TASKS - done.size, sessions, compactions, seconds };
}

const run = (program, args, cwd, env) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
    });
    child.on("exit", () => resolve(text));
  });
const plain = (cwd, env) => {
  const items = Array.from({ length: TASKS }, (_, n) => `- [ ] 1.${n + 1} Create \`out/${n + 1}.txt\``).join("\n");
  const prompt = `# Phase 1: Work\n\n## State of the tasks\n\n${items}\n`;
  const args = ["-p", prompt, "--model", MODEL, "--output-format", "stream-json", "--verbose"];
  return run(CLAUDE, [...args, "--dangerously-skip-permissions"], cwd, env);
};
const segno =
  (...flags) =>
  (cwd, env) =>
    run(process.execPath, [SEGNO, "run", "PLAN.md", "--json", ...flags], cwd, env);

const WAYS = [
  ["claude -p, a perfect summary", plain, 1],
  ["claude -p, a summary that keeps 90 %", plain, 0.9],
  ["claude -p, a summary that keeps 70 %", plain, 0.7],
  ["segno, threshold 80 only", segno("--context-soft", "100")],
  ["segno, soft 65 (default)", segno()],
  ["segno, soft auto", segno("--context-soft", "auto")],
];
const rows = [];
let base;
for (const [name, start, remembers] of WAYS) {
  const figures = await measure(start, remembers);
  const input = figures.input + figures.cacheRead + figures.cacheWrite;
  const cost = costAt(priceOf(MODEL), figures);
  base ??= { input, cost };
  rows.push([
    name,
    `${(input / 1e6).toFixed(2)} M`,
    (input / base.input).toFixed(2),
    `${(figures.cacheRead / 1e6).toFixed(2)} M`,
    `$${cost.toFixed(2)}`,
    (cost / base.cost).toFixed(2),
    String(figures.sessions),
    String(figures.compactions),
    String(figures.redone),
    String(figures.lost),
    `${figures.seconds.toFixed(0)} s`,
  ]);
}
console.log(`\npolicy: one phase of ${TASKS} tasks (aim: auto at half of plain's input tokens, nothing redone)`);
console.log(
  table(
    ["way", "input", "ratio", "cached", "cost", "ratio", "sessions", "compactions", "redone", "lost", "time"],
    rows,
  ),
);
