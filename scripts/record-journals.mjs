// Records runs of this version as fixtures that every later version must be able to show and to take up again:
//   npm run build && node scripts/record-journals.mjs NAME-OF-VERSION FOLDER [ONE]
// FOLDER (it must not exist yet) becomes the home of the runs: choose one that may be read in a journal.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kindsIn, readConversation } from "../build/rehearsal/conversation.js";
import { call, message } from "../build/rehearsal/reply.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";

const [version, home] = process.argv.slice(2);
if (version === undefined || home === undefined) throw new Error("usage: record-journals.mjs VERSION FOLDER");
const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const TARGET = fileURLToPath(new URL(`../test/fixtures/journals/${version}/`, import.meta.url));

const phaseFile = (id, tasks, gates, dependsOn) => `# Phase ${id}: Phase ${id}

**Status:** Pending
**Depends On:** ${dependsOn.map((other) => `[Phase ${other}](phase-${other}.md)`).join(", ") || "None"}

## Gates

${gates.map((gate) => `- ${gate}`).join("\n")}

## Tasks

${Array.from({ length: tasks }, (_, n) => `- [ ] ${id}.${n + 1}: Create \`out/${id}-${n + 1}.txt\``).join("\n")}
`;
const command = (text) => `gate: must pass (command: \`${text}\`)`;

function planOf(phases) {
  const rows = phases.map(({ id }) => `| ${id} | [Phase ${id}](plan/phase-${id}.md) | Pending |`);
  const files = {
    "README.md": "# Project\n",
    "PLAN.md": `# A recorded plan\n\n## Overview\n\nA plan for a fixture.\n\n| Phase | Title | Status |\n|---|---|---|\n${rows.join("\n")}\n`,
  };
  for (const { id, tasks = 2, gates = [command("true")], dependsOn = [] } of phases)
    files[`plan/phase-${id}.md`] = phaseFile(id, tasks, gates, dependsOn);
  return files;
}

const result = (fields) =>
  message(
    call("mcp__segno__phase_result", {
      status: "completed",
      summary: "s",
      tasks_completed: [],
      tasks_remaining: [],
      files_modified: [],
      decisions: [],
      ...fields,
    }),
  );

const isWork = (request) => readConversation(request).tools.has("Bash");

/** As the API answers an account whose limit is used up. */
const limit = () => ({
  type: "error",
  status: 429,
  error: "rate_limit_error",
  message: "This request would exceed your account's rate limit.",
  headers: {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(Math.floor(Date.now() / 1_000) + 60),
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "x-should-retry": "false",
  },
});

const TWO = [
  { id: "1", tasks: 2 },
  { id: "2", tasks: 4, dependsOn: ["1"], gates: [command('test "$(ls out | wc -l)" -eq 6')] },
];

const SCENARIOS = {
  plain: { files: planOf(TWO), args: ["--context-limit", "36000"], chars: 9_000 },
  "parallel-split": {
    files: planOf([
      { id: "1", tasks: 2 },
      { id: "2", tasks: 4 },
    ]),
    args: ["--parallel", "2"],
    behave: (request, standard) => {
      const { phase, prompt } = readConversation(request);
      if (!isWork(request) || phase !== "2" || !kindsIn(prompt).some((kind) => kind === "work" || kind === "continue"))
        return standard(request);
      const parts = [
        { title: "First half", tasks: ["2.1", "2.2"] },
        { title: "Second half", tasks: ["2.3", "2.4"] },
      ];
      return result({ status: "split_request", split_details: { reason: "large", recommended_sub_phases: parts } });
    },
    until: (event) => event.type === "progress-reported" && event.phase === "2a",
    signal: "SIGTERM",
  },
  question: {
    files: {
      ...planOf([{ id: "1", gates: [command("true"), "looks good: a person must look"] }, { id: "2" }]),
      ".segno/config.yaml": "gates:\n  looks good: manual\n",
    },
    until: (event) => event.type === "question-asked",
    signal: "SIGKILL",
  },
  limit: {
    files: planOf(TWO),
    env: { CLAUDE_CODE_OAUTH_TOKEN: "a-made-up-login", ANTHROPIC_API_KEY: "" },
    behave: (() => {
      let calls = 0;
      return (request, standard) => (isWork(request) && ++calls > 4 ? limit() : standard(request));
    })(),
    until: (event) => event.type === "limit-reached",
    signal: "SIGKILL",
  },
  failed: {
    files: planOf([
      { id: "1", gates: [command("test -f repaired.txt")] },
      { id: "2", dependsOn: ["1"] },
    ]),
    env: { SEGNO_MAX_REMEDIATIONS: "0" },
  },
  interrupted: {
    files: planOf(TWO),
    args: ["--context-limit", "36000"],
    chars: 9_000,
    until: (event) => event.type === "progress-reported" && event.task === "2.2",
    signal: "SIGKILL",
  },
};

const run = (program, args, cwd) => {
  const { status, stderr, stdout } = spawnSync(program, args, { cwd, encoding: "utf8", env });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}${stdout}`);
  return stdout;
};

const env = {
  PATH: process.env.PATH,
  HOME: home,
  ANTHROPIC_API_KEY: "not-a-real-key",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  IS_SANDBOX: "1",
  SEGNO_MODEL: "claude-sonnet-4-5",
  SEGNO_PERMISSION_MODE: "bypassPermissions",
  GIT_CONFIG_NOSYSTEM: "1",
};

async function record(name, { files, args = [], chars = 0, behave, env: more = {}, until, signal }) {
  mkdirSync(home, { recursive: true });
  writeFileSync(
    join(home, ".gitconfig"),
    "[user]\n\tname = Dev\n\temail = dev@example.com\n[init]\n\tdefaultBranch = main\n",
  );
  const repo = join(home, "project");
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), content);
  }
  run("git", ["init", "--quiet", "--template="], repo);
  run("git", ["add", "--all"], repo);
  run("git", ["commit", "--quiet", "-m", "start"], repo);
  const standard = worker({ charsPerTask: chars, onTask: () => {} });
  const standIn = await startStandIn({
    window: 200_000,
    behaviour: (request) => (behave === undefined ? standard(request) : behave(request, standard)),
  });
  const child = spawn(process.execPath, [MAIN, "run", "PLAN.md", "--json", ...args], {
    cwd: repo,
    env: { ...env, ANTHROPIC_BASE_URL: standIn.url, ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let rest = "";
  let last = "";
  let sent = false;
  child.stdout.on("data", (data) => {
    const lines = `${rest}${data}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter((text) => text.startsWith("{"))) {
      const event = JSON.parse(line);
      last = event.type;
      if (sent || until?.(event) !== true) continue;
      sent = true;
      child.kill(signal);
    }
  });
  await new Promise((resolve) => child.on("close", resolve));
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await standIn.close();
  // Who held it, on which machine, is nothing to keep.
  const runs = join(repo, ".git/segno/runs");
  const [id] = readdirSync(runs);
  for (const folder of [join(repo, ".segno"), join(runs, id)])
    for (const file of readdirSync(folder)) if (/lock\.|^door\.json$/.test(file)) rmSync(join(folder, file));
  run(
    "tar",
    ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf", join(TARGET, `${name}.tar.gz`), "project"],
    home,
  );
  console.log(`${name}: ${last}`);
  rmSync(home, { recursive: true, force: true });
}

mkdirSync(TARGET, { recursive: true });
const only = process.argv[4];
for (const [name, scenario] of Object.entries(SCENARIOS))
  if (only === undefined || only === name) await record(name, scenario);
