/** opencode, as the port sees it. */
import type { Agent } from "../agent.js";
import { findProgram } from "../find-program.js";
import { priceOf } from "../prices.js";
import type { AgentChoice } from "../registry.js";
import { shortHash } from "../short-hash.js";
import { toolName } from "./tools.js";

/** Where its installers put it, beside the PATH. */
const PLACES = ["~/.opencode/bin", "~/.local/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/** Always the user's own: it does not come with Segno. */
export const findOpencode = ({ env }: AgentChoice): Agent =>
  opencodeAgent(env.SEGNO_OPENCODE ?? findProgram("opencode", env, PLACES));

export function opencodeAgent(executable: string | undefined): Agent {
  return {
    name: "opencode",
    title: "opencode",
    abilities: { stop: "boundary", usage: "call", compaction: "vetoed", refuses: true, tells: false, resume: true },
    levels: {
      all: "everything is allowed, but what your own settings deny",
      edits: "files are edited; commands, the web and sub-agents are refused unless allowed_tools names them",
      listed: "what your settings allow; what they would ask about is refused",
    },
    sandboxes: false,
    homeVariable: "XDG_DATA_HOME",
    reads: ["AGENTS.md"],
    help: {
      install: "npm install -g opencode-ai",
      login: "Log in to a provider with `opencode auth login`, or name one in its configuration.",
    },
    isDraft: () => false,
    toolName,
    credit: (model) => `opencode (${model}) <noreply@opencode.ai>`,
    priceOf,
    account: (env) => shortHash(ACCOUNT.map((name) => env[name] ?? "")),
    check: async (env, cwd) => (await import("./check.js")).checkOpencode(executable, env, cwd, false),
    checkQuickly: async (env, cwd) => (await import("./check.js")).checkOpencode(executable, env, cwd, true),
    canResume: async (session, env) => {
      if (executable === undefined || !/^ses_\w+$/.test(session)) return false;
      const { output } = await import("./check.js");
      return (await output(executable, ["export", session], env)) !== undefined;
    },
    open: async (options) => (await import("./session.js")).openSession(options, executable ?? "opencode"),
  };
}

/** What decides whose account, and which service, is used. */
const ACCOUNT = [
  "OPENCODE_CONFIG",
  "OPENCODE_CONFIG_CONTENT",
  "OPENCODE_CONFIG_DIR",
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "XDG_DATA_HOME",
  "HOME",
];
