// Records streams of the real Claude Code against the stand-in model, as fixtures for the meter: npm run record
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { call, message, say } from "../build/rehearsal/reply.js";
import { startStandIn } from "../build/rehearsal/server.js";
import { worker } from "../build/rehearsal/worker.js";

const sdk = createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk");
const CLAUDE = join(dirname(sdk), `../claude-agent-sdk-${process.platform}-${process.arch}/claude`);
const FOLDER = fileURLToPath(new URL("../test/fixtures/streams/", import.meta.url));

const prompt = (tasks) =>
  `# Phase 1: Work\n\n## State of the tasks\n\n${Array.from({ length: tasks }, (_, n) => `- [ ] 1.${n + 1} Create \`out/${n + 1}.txt\``).join("\n")}\n`;
const isSub = (request) => JSON.stringify(request.messages[0]).includes("SUB-AGENT");
let turn = 0;
const steps =
  (...replies) =>
  (request, standard) => {
    if ((request.tools ?? []).length === 0) return standard(request);
    return replies[turn++] ?? message(say("done"));
  };
const bash = (command) => call("Bash", { command, description: "look" });

const SCENARIOS = {
  // One tool call after the other: each call is the last one's prompt, output and tail.
  sequence: { tasks: 8, chars: 6_000 },
  // Several tool calls in one message: one call, one boundary.
  parallel: {
    tasks: 1,
    behave: steps(
      message(say("all at once"), bash("seq 1 400"), bash("seq 1 200"), bash("echo three")),
      message(bash("seq 1 100")),
    ),
  },
  // A sub-agent's calls are shown in the same stream and are not in the context.
  subagent: {
    tasks: 1,
    behave: (request, standard) => {
      if ((request.tools ?? []).length === 0) return standard(request);
      if (isSub(request)) return request.messages.length > 2 ? message(say("sub done")) : message(bash("seq 1 3000"));
      turn++;
      if (turn === 1)
        return message(
          call("Agent", { description: "side work", prompt: "SUB-AGENT: count", subagent_type: "general-purpose" }),
        );
      return turn === 2 ? message(bash("seq 1 100")) : message(say("done"));
    },
  },
  // The window fills up and the agent compacts.
  compaction: { tasks: 24, chars: 29_000 },
  // Usage that stops coming in the middle.
  silent: {
    tasks: 1,
    behave: steps(
      message(bash("seq 1 500")),
      message(bash("seq 1 600")),
      { type: "message", content: [bash("seq 1 700")], silent: true },
      { type: "message", content: [bash("seq 1 800")], silent: true },
      message(bash("seq 1 50")),
    ),
  },
  // A stream that is cut off and asked again: the broken call does not count.
  cut: {
    tasks: 1,
    behave: steps(
      message(bash("seq 1 500")),
      { type: "cut", content: [say("I was going to say"), bash("true")] },
      message(bash("seq 1 300")),
    ),
  },
  // Prose, code and numbers have ratios of their own.
  kinds: {
    tasks: 1,
    behave: steps(
      message(bash("seq 100000 101500")),
      message(
        bash(
          "for i in $(seq 1 60); do echo 'The quick brown fox jumps over the lazy dog and thinks about it for a while.'; done",
        ),
      ),
      message(
        call("Write", { file_path: "code.ts", content: "export const f = (x: number): number => x * 2;\n".repeat(80) }),
      ),
      message(call("Read", { file_path: "code.ts" })),
    ),
  },
};

mkdirSync(FOLDER, { recursive: true });
for (const [name, { tasks, chars = 0, behave }] of Object.entries(SCENARIOS)) {
  turn = 0;
  const folder = mkdtempSync(join(tmpdir(), "segno-record-"));
  const standard = worker({ charsPerTask: chars, onTask: () => {} });
  const prompts = [];
  const standIn = await startStandIn({
    window: 200_000,
    behaviour: (request) => (behave === undefined ? standard(request) : behave(request, standard)),
    onExchange: ({ usage }) => prompts.push(usage),
  });
  const args = ["-p", prompt(tasks), "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose"];
  const child = spawn(CLAUDE, [...args, "--include-partial-messages", "--dangerously-skip-permissions"], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      ANTHROPIC_BASE_URL: standIn.url,
      ANTHROPIC_API_KEY: "not-a-real-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      DISABLE_AUTOUPDATER: "1",
      IS_SANDBOX: "1",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
  });
  await new Promise((resolve) => child.on("exit", resolve));
  await standIn.close();
  rmSync(folder, { recursive: true, force: true });
  // Places of the machine it was recorded on say nothing; the pieces of a streamed text are not needed.
  const lines = text
    .replaceAll(folder, "/repo")
    .split("\n")
    .filter(
      (line) => line !== "" && !/"type":"content_block_|"subtype":"(init|status)"|"type":"message_stop"/.test(line),
    )
    .map((line) =>
      JSON.stringify(JSON.parse(line, (key, value) => (/^(uuid|session_id|cwd)$/.test(key) ? undefined : value))),
    );
  writeFileSync(join(FOLDER, `${name}.jsonl.gz`), gzipSync(`${lines.join("\n")}\n`, { level: 9 }));
  console.log(name, lines.length, "lines,", prompts.length, "exchanges");
}
