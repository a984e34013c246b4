// What a handover adds and what is held in memory, agent by agent, beside the agent's own start in the same run. Agents that
// `npm run test:agents` has not installed are left out, and named.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seedHome } from "../build/agents/opencode/config.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, median, planOf, repository, SEGNO, table } from "./measure.mjs";

const TASKS = 12;
const program = (name) => fileURLToPath(new URL(`../.agents/node_modules/.bin/${name}`, import.meta.url));

function environment(agent, url) {
  const env = { ...agentEnv(url), SEGNO_AGENT: agent };
  if (agent === "codex") {
    mkdirSync(join(env.HOME, ".codex"));
    writeFileSync(
      join(env.HOME, ".codex/config.toml"),
      `model_provider = "own"\nmodel_context_window = 200000\n\n[model_providers.own]\nname = "own"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\nsupports_websockets = false\n\n[analytics]\nenabled = false\n`,
    );
    return { ...env, SEGNO_CODEX: program("codex"), OPENAI_API_KEY: "not-a-real-key" };
  }
  if (agent !== "opencode") return env;
  seedHome(env.HOME);
  const models = { m: { limit: { context: 200_000, output: 32_000 } } };
  const own = { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${url}/v1`, apiKey: "x" }, models };
  writeFileSync(
    join(env.HOME, ".config/opencode/opencode.json"),
    JSON.stringify({ provider: { own }, model: "own/m" }),
  );
  const offline = { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" };
  return { ...env, ...offline, SEGNO_OPENCODE: program("opencode"), SEGNO_MODEL: "own/m" };
}

/** Resident megabytes of a process; 0 where it is gone. */
function resident(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

/** The largest process that carries a session's marker: the agent itself. */
function largestAgent() {
  let most = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      if (readFileSync(`/proc/${pid}/environ`, "utf8").includes("SEGNO_SESSION=")) most = Math.max(most, resident(pid));
    } catch {
      // It has ended, or is somebody else's.
    }
  return most;
}

async function measure(agent, window) {
  const standIn = await startStandIn({
    window: 200_000,
    behaviour: worker({ charsPerTask: 9_000, onTask: () => {}, onRefused: () => {} }),
  });
  const child = spawn(process.execPath, [SEGNO, "run", "PLAN.md", "--json", "--context-limit", String(window)], {
    cwd: repository(planOf(TASKS)),
    env: environment(agent, standIn.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
  });
  const own = [];
  const agents = [];
  const timer = setInterval(() => {
    own.push(resident(child.pid));
    agents.push(largestAgent());
  }, 500);
  const code = await new Promise((resolve) => child.on("exit", resolve));
  clearInterval(timer);
  await standIn.close();
  if (code !== 0) throw new Error(`${agent} ended with ${code}: ${text.slice(-1_000)}`);
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const at = (event) => Date.parse(event.at);
  const firstCallAfter = (index) => events.slice(index).find(({ type }) => type === "call-made");
  const begun = events.findIndex(({ type }) => type === "session-started");
  const start = at(firstCallAfter(begun)) - at(events[begun]);
  const handovers = events.flatMap((event, index) => {
    if (event.type !== "boundary-decided" || event.why !== "context") return [];
    const next = events.findIndex(({ type }, n) => n > index && type === "session-started");
    return next < 0 ? [] : [at(firstCallAfter(next)) - at(event)];
  });
  return { start, handovers, own: Math.max(...own), agent: Math.max(...agents) };
}

const AGENTS = [
  ["claude", 36_000, true],
  ["codex", 24_000, existsSync(program("codex"))],
  ["opencode", 24_000, existsSync(program("opencode"))],
];
const rows = [];
for (const [agent, window, isThere] of AGENTS) {
  if (!isThere) {
    rows.push([agent, "not installed: npm run test:agents", "", "", "", ""]);
    continue;
  }
  const { start, handovers, own, agent: theirs } = await measure(agent, window);
  const ms = median(handovers);
  rows.push([
    agent,
    String(handovers.length),
    `${ms} ms`,
    `${start} ms`,
    (ms / start).toFixed(2),
    `${own.toFixed(0)} MB`,
    `${theirs.toFixed(0)} MB`,
  ]);
}
console.log(
  `\nagents: a phase of ${TASKS} tasks, handed over again and again; from the decision to the next session's first answer`,
);
console.log(table(["agent", "handovers", "median", "its own start", "times", "Segno's memory", "the agent's"], rows));
