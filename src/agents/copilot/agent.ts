/** GitHub Copilot, as the port sees it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Agent, AgentCheck } from "../agent.js";
import { priceOf } from "../prices.js";
import type { AgentChoice } from "../registry.js";
import { shortHash } from "../short-hash.js";
import { loadSdk } from "./sdk.js";
import { toolName } from "./tools.js";

/** Always the user's own: it does not come with Segno. */
export const findCopilot = ({ env }: AgentChoice): Agent => copilotAgent(env.SEGNO_COPILOT_SDK);

/** `from`: the SDK's main file, if it is not where Segno's packages are. */
export function copilotAgent(from: string | undefined): Agent {
  return {
    name: "copilot",
    title: "Copilot",
    abilities: { stop: "boundary", usage: "call", compaction: "vetoed", refuses: true, tells: false, resume: true },
    levels: {
      all: "everything is allowed",
      edits: "files are edited; commands, the web and sub-agents are refused unless allowed_tools names them",
      listed: "what it does not ask for; what it would ask about is refused",
    },
    sandboxes: false,
    homeVariable: "COPILOT_HOME",
    reads: ["AGENTS.md", ".github/copilot-instructions.md"],
    help: {
      install: "npm install -g @github/copilot-sdk",
      login:
        "Log in with `copilot login`, or set COPILOT_GITHUB_TOKEN, or COPILOT_PROVIDER_BASE_URL for a provider of your own.",
    },
    isDraft: () => false,
    toolName,
    credit: (model) => `Copilot (${model}) <198982749+Copilot@users.noreply.github.com>`,
    priceOf,
    account: (env) => shortHash(ACCOUNT.map((name) => env[name] ?? "")),
    check: async (env, cwd) => checkCopilot(from, env, cwd),
    checkQuickly: async () => ((await loadSdk(from)) === undefined ? MISSING : { ok: true, account: "its own" }),
    canResume: async (session, env) => session !== "" && existsSync(join(homeOf(env), "session-state", session)),
    open: async (options) => {
      const sdk = await loadSdk(from);
      if (sdk === undefined) throw new Error("@github/copilot-sdk is not installed");
      return (await import("./session.js")).openSession(options, sdk);
    },
  };
}

const MISSING: AgentCheck = { ok: false, problem: "missing", detail: "its SDK is not installed" };

/** What decides whose account, and which service, is used. */
const ACCOUNT = [
  "COPILOT_HOME",
  "COPILOT_GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_TOKEN",
  "COPILOT_PROVIDER_BASE_URL",
  "COPILOT_PROVIDER_API_KEY",
  "HOME",
];

const homeOf = (env: Readonly<Record<string, string>>): string => env.COPILOT_HOME ?? join(env.HOME ?? "", ".copilot");

/** Started, and asked who is logged in. */
async function checkCopilot(from: string | undefined, env: Record<string, string>, cwd: string): Promise<AgentCheck> {
  const sdk = await loadSdk(from);
  if (sdk === undefined) return MISSING;
  if ((env.COPILOT_PROVIDER_BASE_URL ?? "") !== "") return { ok: true, account: "a provider of your own" };
  const client = new sdk.CopilotClient({ workingDirectory: cwd, useLoggedInUser: true, env, logLevel: "none" });
  try {
    await client.start();
    const { isAuthenticated, login } = await client.getAuthStatus();
    if (isAuthenticated !== true) return { ok: false, problem: "no-login", detail: "nobody is logged in" };
    return { ok: true, account: login ?? "its own" };
  } catch (error) {
    return { ok: false, problem: "missing", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    await client.stop().catch(() => {});
  }
}
