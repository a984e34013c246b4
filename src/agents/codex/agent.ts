/** Codex, as the port sees it. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../agent.js";
import { findProgram } from "../find-program.js";
import type { AgentChoice } from "../registry.js";
import { shortHash } from "../short-hash.js";
import { priceOf } from "./models.js";
import { toolName } from "./tools.js";

/** Where its installers put it, beside the PATH. */
const PLACES = ["~/.local/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/** Always the user's own: it does not come with Segno. */
export const findCodex = ({ env }: AgentChoice): Agent =>
  codexAgent(env.SEGNO_CODEX ?? findProgram("codex", env, PLACES));

export function codexAgent(executable: string | undefined): Agent {
  return {
    name: "codex",
    title: "Codex",
    abilities: { stop: "boundary", usage: "call", compaction: "vetoed", refuses: true, tells: false, resume: true },
    levels: {
      all: "danger-full-access: nothing is asked; workspace-write with sandbox: true",
      edits: "patches are applied, commands are refused",
      listed: "only tools in allowed_tools",
      auto: "commands and patches inside its own sandbox",
    },
    sandboxes: true,
    homeVariable: "CODEX_HOME",
    reads: ["AGENTS.md"],
    help: {
      install: "npm install -g @openai/codex",
      login: "Start `codex` once and log in (codex login), or set OPENAI_API_KEY.",
    },
    isDraft: () => false,
    toolName,
    credit: (model) => `Codex (${model}) <noreply@openai.com>`,
    priceOf,
    account: (env) => shortHash(ACCOUNT.map((name) => env[name] ?? "")),
    check: async (env, cwd) => (await import("./check.js")).checkCodex(executable, env, cwd),
    checkQuickly: async (env, cwd) => (await import("./check.js")).checkCodex(executable, env, cwd),
    canResume: async (thread, env) => hasRollout(thread, env),
    open: async (options) => (await import("./session.js")).openSession(options, executable ?? "codex"),
  };
}

/** What decides whose account, and which service, is used. */
const ACCOUNT = ["CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HOME"];

export const codexHome = (env: Readonly<Record<string, string>>): string =>
  env.CODEX_HOME ?? join(env.HOME ?? "", ".codex");

/** Codex keeps one rollout file per thread, in folders by day. */
function hasRollout(thread: string, env: Readonly<Record<string, string>>): boolean {
  const sessions = join(codexHome(env), "sessions");
  if (thread === "" || !existsSync(sessions)) return false;
  return readdirSync(sessions, { recursive: true }).some((name) => String(name).endsWith(`${thread}.jsonl`));
}
