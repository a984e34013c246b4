/** Claude Code, as the port sees it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../agent.js";
import { findProgram } from "../find-program.js";
import type { AgentChoice } from "../registry.js";
import { shortHash } from "../short-hash.js";
import { bundled } from "./bundled.js";
import { priceOf } from "./models.js";
import { toolName } from "./tools.js";

/** Where its installers put it, beside the PATH. */
const PLACES = ["~/.local/bin", "~/.claude/local", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/** The user's own `claude` for their runs; for rehearsals the one that came along, and the user's where none did. */
export function findClaude({ whose, env }: AgentChoice): Agent {
  const users = (): string | undefined => findProgram("claude", env, PLACES);
  const found = whose === "user" || bundled() === undefined ? users() : undefined;
  return claudeAgent(env.SEGNO_CLAUDE ?? found);
}

export function claudeAgent(executable: string | undefined): Agent {
  return {
    name: "claude",
    title: "Claude Code",
    abilities: { stop: "boundary", usage: "call", compaction: "vetoed", refuses: true, tells: true, resume: true },
    levels: {
      all: "bypassPermissions: nothing is asked",
      edits: "acceptEdits: edits are made, commands only where your settings allow them",
      listed: "dontAsk: what your settings allow",
      auto: "its own classifier decides",
    },
    refusesHere: (level, env) =>
      level === "all" && process.getuid?.() === 0 && (env.IS_SANDBOX ?? "") === ""
        ? {
            why: "Claude Code refuses permission_mode: all to root.",
            fix: "Run Segno as another user; or, where this is a container that nothing else is in, set IS_SANDBOX=1; or choose another --permission-mode.",
          }
        : undefined,
    sandboxes: true,
    homeVariable: "CLAUDE_CONFIG_DIR",
    reads: ["CLAUDE.md"],
    help: {
      install: "npm install -g @anthropic-ai/claude-code",
      login: `Start \`${executable ?? bundled() ?? "claude"}\` once and log in, or set ANTHROPIC_API_KEY.`,
    },
    // `name.tmp.PID.HEX` or `name.tmp.HEX`, beside the file it is about to be.
    isDraft: (name) => /.\.tmp\.(?:[0-9a-f]{8}|\d+\.[0-9a-f]{12})$/.test(name),
    toolName,
    credit: (model) => `Claude (${model}) <noreply@anthropic.com>`,
    priceOf,
    account: (env) => shortHash(ACCOUNT.map((name) => env[name] ?? "")),
    // Its SDK is loaded when it is used.
    check: async (env, cwd) => (await import("./check.js")).checkClaude(executable, env, cwd),
    checkQuickly: async (env, cwd) => (await import("./check.js")).checkQuickly(executable, env, cwd),
    canResume: async (agentSession, env) => hasTranscript(agentSession, env),
    open: async (options) => (await import("./session.js")).openSession(options, executable),
  };
}

/** What decides whose account, and which service, is used. */
const ACCOUNT = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "ANTHROPIC_BASE_URL",
  "CLAUDE_CONFIG_DIR",
];

/**
 * Claude Code keeps one transcript per session, in a folder per project. One that was ended before its first answer has a
 * file, and is not found by it; nothing is lost with such a one.
 */
function hasTranscript(agentSession: string, env: Record<string, string>): boolean {
  const projects = join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? "", ".claude"), "projects");
  if (!existsSync(projects)) return false;
  return readdirSync(projects)
    .map((project) => join(projects, project, `${agentSession}.jsonl`))
    .some((file) => existsSync(file) && readFileSync(file, "utf8").includes('"type":"assistant"'));
}
