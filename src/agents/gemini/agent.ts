/** Gemini CLI, as the port sees it: over the Agent Client Protocol, with a hook of its own before each call. A preview. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Agent, AgentCheck } from "../agent.js";
import { findProgram } from "../find-program.js";
import type { AgentChoice } from "../registry.js";
import { shortHash } from "../short-hash.js";
import { folderOf } from "./home.js";

/** Where its installers put it, beside the PATH. */
const PLACES = ["~/.local/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin"];
const MISSING: AgentCheck = { ok: false, problem: "missing", detail: "it is not installed" };

/** Always the user's own: it does not come with Segno. */
export const findGemini = ({ env }: AgentChoice): Agent =>
  geminiAgent(env.SEGNO_GEMINI ?? findProgram("gemini", env, PLACES));

export function geminiAgent(executable: string | undefined): Agent {
  return {
    name: "gemini",
    title: "Gemini CLI",
    abilities: { stop: "boundary", usage: "call", compaction: "vetoed", refuses: true, tells: false, resume: true },
    levels: {
      all: "everything that it asks for is allowed",
      edits: "files are edited; commands and the web are refused unless allowed_tools names them",
      listed: "what your settings allow; what they would ask about is refused",
    },
    sandboxes: false,
    homeVariable: "GEMINI_CLI_HOME",
    reads: ["GEMINI.md"],
    help: {
      install: "npm install -g @google/gemini-cli",
      login: "Start `gemini` once and log in, or set GEMINI_API_KEY.",
    },
    isDraft: () => false,
    toolName: (tool) => `mcp_segno_${tool}`,
    credit: (model) => `Gemini CLI (${model}) <noreply@google.com>`,
    // Lists change, and none was measured: its tokens are counted.
    priceOf: () => undefined,
    account: (env) => shortHash(ACCOUNT.map((name) => env[name] ?? "")),
    check: async (env, cwd) => {
      if (executable === undefined) return MISSING;
      const { checkAcp } = await import("../acp/check.js");
      const checked = await checkAcp([executable, "--acp", "--skip-trust"], env, cwd);
      return checked.ok && !hasLogin(env) ? NO_LOGIN : checked;
    },
    checkQuickly: async (env) =>
      executable === undefined ? MISSING : hasLogin(env) ? { ok: true, account: "its own" } : NO_LOGIN,
    canResume: async (session, env) => hasTranscript(session, env),
    open: async (options) => (await import("./session.js")).openGemini(options, executable ?? "gemini"),
  };
}

/** What decides whose account, and which service, is used. */
const ACCOUNT = [
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
  "GOOGLE_CLOUD_PROJECT",
  "GOOGLE_GEMINI_BASE_URL",
  "GEMINI_CLI_HOME",
  "HOME",
];
const NO_LOGIN: AgentCheck = { ok: false, problem: "no-login", detail: "it has no key, and nobody has logged in" };

const hasLogin = (env: Readonly<Record<string, string>>): boolean =>
  ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"].some(
    (name) => (env[name] ?? "") !== "",
  ) ||
  ["oauth_creds.json", "gemini-credentials.json", "settings.json"].some((name) =>
    existsSync(join(folderOf(env), name)),
  );

/**
 * It names each conversation's file by the minute in which it began and the first part of its id. Within that minute it would
 * begin the same file anew, and find nothing to go on with.
 */
function hasTranscript(session: string, env: Readonly<Record<string, string>>): boolean {
  const folder = join(folderOf(env), "tmp");
  const [short = ""] = session.split("-");
  if (short.length < 8 || !existsSync(folder)) return false;
  const thisMinute = new Date().toISOString().slice(0, 16).replace(":", "-");
  return readdirSync(folder, { recursive: true })
    .map(String)
    .some((name) => name.endsWith(`-${short}.jsonl`) && !name.includes(`session-${thisMinute}-`));
}
