// A phase of 60 tasks whose decisions must be honoured later, through four ways of getting past the end of a window.
// Real Claude Code in each, and a stand-in model that knows only what its context holds. What counts is what the next
// session does: tasks redone or lost, decisions contradicted, tokens spent.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { call, message, say } from "../build/rehearsal/reply.js";
import { lastTexts } from "../build/rehearsal/request.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, CLAUDE, repository, SEGNO, table } from "./measure.mjs";

const TASKS = Number(process.env.TASKS ?? 60);
const CHARS = 21_500;
/** Every tenth task settles a name; all tasks after it must use it. */
const EVERY = 10;
const decides = (n) => n % EVERY === 1;

const items = Array.from({ length: TASKS }, (_, n) => `- [ ] 1.${n + 1}: Create \`out/${n + 1}.txt\``).join("\n");
const PLAN = {
  "PLAN.md": "# Bench\n\n| Phase | Title | Status |\n|-|-|-|\n| 1 | [Work](phase-1.md) | Pending |\n",
  "phase-1.md": `# Phase 1: Work\n\n**Status:** Pending\n\n## Gates\n- there: (command: \`test -d out\`)\n\n## Tasks\n${items}\n`,
};
const PROMPT = `# Phase 1: Work\n\n## State of the tasks\n\n${Array.from({ length: TASKS }, (_, n) => `- [ ] 1.${n + 1} Create \`out/${n + 1}.txt\``).join("\n")}\n`;

/**
 * Wraps the worker: what it writes for a task names every decision that its context shows, and a new name for those it
 * does not show. A name comes from a counter, so that a forgotten one is never guessed right.
 */
function deciding(options, names) {
  const standard = worker(options);
  return (request) => {
    const reply = standard(request);
    if (reply.type !== "message") return reply;
    const all = JSON.stringify(request.messages);
    const asked = lastTexts(request).join("\n");
    if (asked.includes("create a detailed summary of the conversation")) {
      const kept = [...new Set(all.match(/NAME-\d+=n\d+/g) ?? [])].filter(
        () => options.luck() < (options.remembers ?? 1),
      );
      return message(say(reply.content[0].text.replace("</summary>", `${kept.join(" ")}\n</summary>`)));
    }
    const content = reply.content.flatMap((block) => {
      if (block.type !== "tool_use") return [block];
      if (block.name.endsWith("__checkpoint")) {
        const known = [...new Set(all.match(/NAME-\d+=n\d+/g) ?? [])];
        return options.checkpoints === false
          ? [say("I have nothing to add.")]
          : [{ ...block, input: { ...block.input, decisions: known } }];
      }
      if (block.name !== "Write") return [block];
      const n = Number(/out\/(\d+)\.txt/.exec(block.input.file_path)?.[1] ?? 0);
      const needed = Array.from({ length: Math.ceil(n / EVERY) }, (_, k) => k * EVERY + 1).filter((task) => task <= n);
      const used = needed.map((task) => {
        const known = new RegExp(`NAME-${task}=(n\\d+)`).exec(all)?.[1];
        if (known !== undefined) return `NAME-${task}=${known}`;
        // Settled before, and forgotten: whatever it is called now, it is not what it was called then.
        if (names.settled.has(task)) names.contradicted++;
        names.settled.add(task);
        return `NAME-${task}=n${++names.counter}`;
      });
      const extra = decides(n) && options.decisionTool ? [call("mcp__segno__decision", { text: used.at(-1) })] : [];
      return [...extra, { ...block, input: { ...block.input, content: `${block.input.content}${used.join("\n")}\n` } }];
    });
    return message(...content);
  };
}

async function measure(start, options) {
  const done = new Map();
  const names = { counter: 0, settled: new Set(), contradicted: 0 };
  let seed = 7;
  const luck = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const sum = { calls: 0, input: 0, cached: 0 };
  const standIn = await startStandIn({
    window: 200_000,
    behaviour: deciding(
      {
        charsPerTask: CHARS,
        luck,
        ...options,
        onTask: ({ task }) => done.set(task, (done.get(task) ?? 0) + 1),
        onRefused: ({ task }) => done.set(task, (done.get(task) ?? 1) - 1),
      },
      names,
    ),
    onExchange: ({ usage }) => {
      sum.calls++;
      sum.input += usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
      sum.cached += usage.cache_read_input_tokens;
    },
  });
  const cwd = repository(PLAN);
  const began = Date.now();
  await start(cwd, agentEnv(standIn.url));
  const seconds = (Date.now() - began) / 1_000;
  await standIn.close();
  const redone = [...done.values()].reduce((total, times) => total + times - 1, 0);
  const lost = Array.from({ length: TASKS }, (_, n) => join(cwd, `out/${n + 1}.txt`)).filter(
    (file) => !existsSync(file),
  );
  return { ...sum, redone, lost: lost.length, contradicted: names.contradicted, seconds };
}

const run = (program, args, cwd, env) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.resume();
    child.on("exit", resolve);
  });
const segno = (cwd, env) => run(process.execPath, [SEGNO, "run", "PLAN.md", "--json"], cwd, env);
const once = (cwd, env, more = []) =>
  run(CLAUDE, ["-p", PROMPT, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions", ...more], cwd, env);
/** Starts anew with the same prompt, each time with turns for a part of the work, until all files are there. */
const loop = async (cwd, env) => {
  for (let tries = 0; tries < 8 && !existsSync(join(cwd, `out/${TASKS}.txt`)); tries++)
    await once(cwd, env, ["--max-turns", String(Math.ceil(TASKS / 3) * (tries + 1))]);
};

const WAYS = [
  ["(a) Segno", segno, { decisionTool: true }],
  ["(b) claude -p, summary keeps 90 %", once, { remembers: 0.9 }],
  ["(b) claude -p, summary keeps 70 %", once, { remembers: 0.7 }],
  ["(c) claude -p again and again", loop, {}],
  ["(d) Segno, progress and file names only", segno, { checkpoints: false, decisionTool: false }],
];
const rows = [];
for (const [name, start, options] of WAYS) {
  const { redone, lost, contradicted, calls, input, cached, seconds } = await measure(start, options);
  rows.push(
    [
      name,
      redone,
      lost,
      contradicted,
      calls,
      `${(input / 1e6).toFixed(2)} M`,
      `${(cached / 1e6).toFixed(2)} M`,
      `${seconds.toFixed(0)} s`,
    ].map(String),
  );
}
console.log(
  `\nhandover: one phase of ${TASKS} tasks, ${Math.ceil(TASKS / EVERY)} decisions to honour (aim: (a) redoes, loses and contradicts none)`,
);
console.log(table(["way", "redone", "lost", "contradicted", "calls", "input", "cached", "time"], rows));
