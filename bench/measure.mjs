// What all benchmarks share: medians, a table, a place of their own.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { table as columns } from "../build/view/table.js";

export const SEGNO = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const sdk = createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk");
export const CLAUDE = join(dirname(sdk), `../claude-agent-sdk-${process.platform}-${process.arch}/claude`);

/** What an agent under measurement gets: nothing of this machine's but its PATH. */
export const agentEnv = (url) => ({
  PATH: process.env.PATH,
  HOME: scratch(),
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: "not-a-real-key",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  IS_SANDBOX: "1",
  SEGNO_MODEL: "claude-sonnet-4-5",
  SEGNO_PERMISSION_MODE: "bypassPermissions",
});

export const table = (head, rows) => `  ${columns(head, rows).replaceAll("\n", "\n  ")}`;

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export function timed(action) {
  const began = performance.now();
  action();
  return performance.now() - began;
}

/** Best of several, for work that is all our own: the rest is noise of the machine. */
export const best = (times, action) => Math.min(...Array.from({ length: times }, () => timed(action)));

const folders = [];
process.on("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "segno-bench-"));
  folders.push(folder);
  return folder;
}

export function repository(files) {
  const folder = scratch();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const git = (...args) => execFileSync("git", args, { cwd: folder, stdio: "ignore" });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Bench");
  git("config", "user.email", "bench@segno.invalid");
  git("add", "--all");
  git("commit", "--quiet", "-m", "start");
  return folder;
}

/** One phase with this many tasks, each of which creates a file. */
export function planOf(tasks) {
  const items = Array.from({ length: tasks }, (_, n) => `- [ ] 1.${n + 1}: Create \`out/${n + 1}.txt\``);
  return {
    "PLAN.md": "# Bench\n\n| Phase | Title | Status |\n|-|-|-|\n| 1 | [Work](phase-1.md) | Pending |\n",
    "phase-1.md": `# Phase 1: Work\n\n**Status:** Pending\n\n## Gates\n- there: (command: \`test -d out\`)\n\n## Tasks\n${items.join("\n")}\n`,
  };
}

export function report(title, rows) {
  console.log(`\n${title}`);
  const widest = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value, aim] of rows)
    console.log(`  ${name.padEnd(widest)}  ${value}${aim === undefined ? "" : `   (aim: ${aim})`}`);
}
