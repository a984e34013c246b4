// Eight independent phases one after the other and all at once, with a model that takes a set time per call, so that
// what is measured is Segno and git and not this machine's number of cores.
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, repository, SEGNO, table } from "./measure.mjs";

const PHASES = 8;
/** A call for each, and one that ends the phase: six. */
const TASKS = 5;
const CALL_MS = Number(process.env.CALL_MS ?? 2_000);
const GATE_SECONDS = 3;

const answer = worker({ charsPerTask: 0, onTask: () => {}, onRefused: () => {} });
const standIn = await startStandIn({
  window: 200_000,
  behaviour: async (request) => {
    if ((request.tools ?? []).length > 0) await sleep(CALL_MS);
    return answer(request);
  },
});

const phase = (id) => `# Phase ${id}: Part ${id}

**Status:** Pending
**Depends On:** None

## Gates

- gate: must pass (command: \`sleep ${GATE_SECONDS}; test -f out/${id}-${TASKS}.txt\`)

## Tasks

${Array.from({ length: TASKS }, (_, n) => `- [ ] ${id}.${n + 1}: Create \`out/${id}-${n + 1}.txt\``).join("\n")}
`;

function plan() {
  const ids = Array.from({ length: PHASES }, (_, n) => String(n + 1));
  const rows = ids.map((id) => `| ${id} | [Part ${id}](plan/phase-${id}.md) | Pending |`).join("\n");
  return {
    "PLAN.md": `# Bench\n\n## Overview\n\nEight parts.\n\n| Phase | Title | Status |\n|---|---|---|\n${rows}\n`,
    ...Object.fromEntries(ids.map((id) => [`plan/phase-${id}.md`, phase(id)])),
  };
}

async function run(...flags) {
  const cwd = repository(plan());
  const began = performance.now();
  const child = spawn(process.execPath, [SEGNO, "run", "PLAN.md", "--json", ...flags], {
    cwd,
    env: agentEnv(standIn.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  if (code !== 0) throw new Error(`the run ended with ${code}: ${text.slice(-1_000)}`);
  const ms = performance.now() - began;
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const gates = new Map();
  for (const { type, phase } of events) if (type === "gate-finished") gates.set(phase, (gates.get(phase) ?? 0) + 1);
  return { ms, merged: events.filter(({ type }) => type === "phase-merged").length, gates: [...gates.values()] };
}

const parallel = await run("--parallel", String(PHASES));
const sequential = await run("--sequential");
await standIn.close();
console.log(
  `\nparallel: ${PHASES} phases of ${TASKS + 1} calls, ${CALL_MS / 1_000} s each, and a gate of ${GATE_SECONDS} s (aim: 4 times faster, each gate at most twice per phase)`,
);
const gatesOf = ({ gates }) => `${gates.reduce((sum, times) => sum + times, 0)} in all, ${Math.max(...gates)} at most`;
console.log(
  table(
    ["how", "seconds", "times faster", "merged", "gate runs"],
    [
      ["one after another", (sequential.ms / 1_000).toFixed(1), "1.0", "0", gatesOf(sequential)],
      [
        "all at once",
        (parallel.ms / 1_000).toFixed(1),
        (sequential.ms / parallel.ms).toFixed(1),
        String(parallel.merged),
        gatesOf(parallel),
      ],
    ],
  ),
);
