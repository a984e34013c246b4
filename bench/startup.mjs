// Every command that starts no agent against a bare `node -e 0`, in a repository with a small plan and a run of it.
import { spawn, spawnSync } from "node:child_process";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { agentEnv, median, planOf, repository, SEGNO, table } from "./measure.mjs";

const TIMES = Number(process.env.TIMES ?? 15);
const AIM = 2.5;
const COMMANDS = [
  "--version",
  "--help",
  "audit PLAN.md",
  "forecast PLAN.md",
  "run PLAN.md --force --dry-run",
  "status",
  "runs",
  "report",
  "logs",
  "gate",
  "diff",
  "config",
  "clean --dry-run",
  "init --plan NEW",
];

const standIn = await startStandIn({
  window: 200_000,
  behaviour: worker({ charsPerTask: 100, onTask: () => {}, onRefused: () => {} }),
});
const env = agentEnv(standIn.url);
const cwd = repository(planOf(3));
const ended = await new Promise((resolve) =>
  spawn(process.execPath, [SEGNO, "run", "PLAN.md", "--json"], { cwd, env, stdio: "ignore" }).on("exit", resolve),
);
await standIn.close();
if (ended !== 0) throw new Error(`the run ended with ${ended}`);

function timed(args, env) {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, args, { cwd, env, stdio: "ignore" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}`);
  return performance.now() - began;
}

function measure(title, env) {
  const times = new Map([["node -e 0", []], ...COMMANDS.map((command) => [command, []])]);
  // Once before: the first of all keeps what V8 made of the program.
  for (const command of COMMANDS) timed([SEGNO, ...command.split(" ")], env);
  for (let n = 0; n < TIMES; n++) {
    times.get("node -e 0").push(timed(["-e", "0"], env));
    for (const command of COMMANDS) times.get(command).push(timed([SEGNO, ...command.split(" ")], env));
  }
  const base = median(times.get("node -e 0"));
  console.log(`\nstart-up, ${title} (median of ${TIMES}; aim: at most ${AIM} times)`);
  console.log(
    table(
      ["command", "ms", "times"],
      [...times].map(([name, all]) => [name, median(all).toFixed(0), (median(all) / base).toFixed(2)]),
    ),
  );
}

// Node itself reads what its environment names (certificates, say) before it does anything: both are what users have.
measure("in the environment of this shell", { ...process.env, ...env });
measure("in an empty environment", env);
