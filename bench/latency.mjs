// From the end of a tool to the first model request of the next session, less what plain `claude -p` needs from its
// start to its first request; and Segno's memory while an agent works. Real Claude Code, the stand-in model.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, CLAUDE, median, planOf, report, repository, SEGNO } from "./measure.mjs";

const requests = [];
const answer = worker({ charsPerTask: 9_000, onTask: () => {}, onRefused: () => {} });
const standIn = await startStandIn({
  window: 200_000,
  behaviour: (request) => {
    if ((request.tools ?? []).length > 0)
      requests.push({
        at: Date.now(),
        fresh: request.messages.filter((message) => message.role === "assistant").length === 0,
      });
    return answer(request);
  },
});
const env = agentEnv(standIn.url);

async function plain() {
  const cwd = repository(planOf(1));
  requests.length = 0;
  const began = Date.now();
  const child = spawn(CLAUDE, ["-p", "Say hello.", "--model", "claude-sonnet-4-5"], { cwd, env, stdio: "ignore" });
  await new Promise((resolve) => child.on("exit", resolve));
  return requests[0].at - began;
}

async function handovers() {
  const cwd = repository(planOf(14));
  requests.length = 0;
  const child = spawn(process.execPath, [SEGNO, "run", "PLAN.md", "--json", "--context-limit", "36000"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  const memory = [];
  child.stdout.on("data", (data) => {
    text += data;
  });
  const timer = setInterval(() => {
    const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
    if (resident !== undefined) memory.push(Number(resident) / 1024);
  }, 100);
  await new Promise((resolve) => child.on("exit", resolve));
  clearInterval(timer);
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const gaps = [];
  for (const [index, event] of events.entries()) {
    if (event.type !== "boundary-decided") continue;
    const tool = events.slice(0, index).findLast((before) => before.type === "tool-finished");
    const next = requests.find((request) => request.fresh && request.at > Date.parse(event.at));
    if (next !== undefined) gaps.push(next.at - Date.parse(tool.at));
  }
  return { gaps, memory };
}

await plain();
const starts = [];
for (let n = 0; n < 5; n++) starts.push(await plain());
const { gaps, memory } = await handovers();
const base = median(starts);
const gap = median(gaps);
report(`handover (${gaps.length} of them)`, [
  ["claude -p, start to first request", `${base} ms`],
  ["a tool's end to the next session's first request", `${gap} ms`],
  ["what Segno adds", `${gap - base} ms, ${(gap / base).toFixed(2)} times`, "under 200 ms"],
]);
report("memory", [
  [
    "Segno while an agent works",
    `${Math.max(...memory).toFixed(0)} MB at most, ${median(memory).toFixed(0)} MB median`,
    "under 120 MB",
  ],
]);
await standIn.close();
