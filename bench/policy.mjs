// A phase of 60 equal tasks of about 7,500 tokens, through plain `claude -p` and through Segno with its policies, at windows
// of 200,000 and of 1,000,000 tokens: what each way costs. Real Claude Code in each, the stand-in model.
import { spawn } from "node:child_process";
import { priceOf } from "../build/agents/claude/models.js";
import { costAt } from "../build/context/prices.js";
import { kindsIn, readConversation } from "../build/rehearsal/conversation.js";
import { call, message, say } from "../build/rehearsal/reply.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, CLAUDE, planOf, repository, SEGNO, table } from "./measure.mjs";

const TASKS = Number(process.env.TASKS ?? 60);
const CHARS = 21_500;
const WINDOWS = [
  { window: 200_000, model: "claude-sonnet-4-5", aims: { tokens: 0.55, dollars: 0.8 } },
  { window: 1_000_000, model: "claude-opus-5-5", aims: { tokens: 0.25, dollars: 0.5 } },
];
/** About 20,000 tokens, in lines that a Read shows whole. */
const BIG = Array.from({ length: 900 }, (_, n) => `line ${n}: what whoever works on this must know, word by word`).join(
  "\n",
);

/** After each handover it reads again what the old session knew. */
function rereading(standard) {
  return (request) => {
    const { prompt, turns } = readConversation(request);
    const goesOn = kindsIn(prompt).includes("continue") && turns.length === 0;
    return goesOn
      ? message(say("Reading what I must know."), call("Read", { file_path: "big.txt" }))
      : standard(request);
  };
}

async function measure({ window, model }, start, { remembers = 1, rereads = false } = {}) {
  const done = new Map();
  const sum = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, calls: 0 };
  const standard = worker({
    charsPerTask: CHARS,
    remembers,
    onTask: ({ task }) => done.set(task, (done.get(task) ?? 0) + 1),
    onRefused: ({ task }) => done.set(task, (done.get(task) ?? 1) - 1),
  });
  const standIn = await startStandIn({
    window,
    behaviour: rereads ? rereading(standard) : standard,
    onExchange: ({ usage }) => {
      sum.input += usage.input_tokens;
      sum.cacheRead += usage.cache_read_input_tokens;
      sum.cacheWrite += usage.cache_creation_input_tokens;
      sum.output += usage.output_tokens;
      sum.calls++;
    },
  });
  const cwd = repository({ ...planOf(TASKS), "big.txt": BIG });
  const began = Date.now();
  const text = await start(cwd, { ...agentEnv(standIn.url), SEGNO_MODEL: model });
  const seconds = (Date.now() - began) / 1_000;
  await standIn.close();
  const events = text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  const redone = [...done.values()].reduce((total, times) => total + Math.max(0, times - 1), 0);
  const lost = TASKS - [...done.values()].filter((times) => times > 0).length;
  const sessions = events.filter((event) => event.type === "session-started").length || 1;
  const compactions = events.filter(
    (event) => event.type === "compacted" || event.subtype === "compact_boundary",
  ).length;
  return { ...sum, redone, lost, sessions, compactions, seconds };
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
  const args = ["-p", prompt, "--model", env.SEGNO_MODEL, "--output-format", "stream-json", "--verbose"];
  return run(CLAUDE, [...args, "--dangerously-skip-permissions"], cwd, env);
};
const segno =
  (...flags) =>
  (cwd, env) =>
    run(process.execPath, [SEGNO, "run", "PLAN.md", "--json", ...flags], cwd, env);
/** Whoever names the threshold means it: nothing earlier counts. */
const AT_80 = segno("--context-threshold", "80");

const WAYS = [
  ["claude -p, a perfect summary", plain],
  ["claude -p, a summary that keeps 90 %", plain, { remembers: 0.9 }],
  ["segno, threshold 80 only", AT_80],
  ["segno, after a task from 65 % on", segno("--context-threshold", "80", "--context-soft", "65")],
  ["segno (default)", segno()],
  ["segno (default), 20k read again each time", segno(), { rereads: true }],
];

/** `WAYS=perfect,default npm run bench policy` takes some of them. */
const chosen = (process.env.WAYS ?? "").split(",");

for (const at of WINDOWS) {
  const rows = [];
  let base;
  for (const [name, start, options] of WAYS.filter(([way]) => chosen.some((word) => way.includes(word)))) {
    const figures = await measure(at, start, options);
    const input = figures.input + figures.cacheRead + figures.cacheWrite;
    const cost = costAt(priceOf(at.model), figures);
    base ??= { input, cost };
    rows.push([
      name,
      `$${cost.toFixed(2)}`,
      (cost / base.cost).toFixed(2),
      `${(input / 1e6).toFixed(2)} M`,
      (input / base.input).toFixed(2),
      `${(figures.cacheRead / 1e6).toFixed(2)} M`,
      String(figures.sessions),
      String(figures.compactions),
      String(figures.redone),
      String(figures.lost),
      `${figures.seconds.toFixed(0)} s`,
    ]);
  }
  const { tokens, dollars } = at.aims;
  console.log(
    `\npolicy: one phase of ${TASKS} tasks, window ${at.window} (aim: the default at most ${dollars} of plain's dollars and ${tokens} of its tokens, nothing redone)`,
  );
  console.log(
    table(
      ["way", "cost", "ratio", "input", "ratio", "cached", "sessions", "compactions", "redone", "lost", "time"],
      rows,
    ),
  );
}
