/** Whether Claude Code can be started and is logged in, found out without a model call. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";
import type { AgentCheck } from "../agent.js";
import { MARKER, sweep } from "../processes.js";
import { PromptQueue } from "../prompt-queue.js";
import { bundled } from "./bundled.js";

/** It starts in a second, and in ten on a busy machine; longer where everything begins at once. */
const LIMIT_MS = 60_000;

export async function checkClaude(
  executable: string | undefined,
  env: Record<string, string>,
  cwd: string,
): Promise<AgentCheck> {
  if (executable === undefined && bundled() === undefined)
    return { ok: false, problem: "missing", detail: "it is not installed" };
  const marker = `check:${randomUUID()}`;
  const prompts = new PromptQueue<SDKUserMessage>();
  try {
    const { query } = await import("@anthropic-ai/claude-agent-sdk");
    const asked = query({
      prompt: prompts,
      options: {
        cwd,
        env: { ...env, [MARKER]: marker },
        settingSources: ["user", "project", "local"],
        ...(executable === undefined ? {} : { pathToClaudeCodeExecutable: executable }),
      },
    });
    const account = await Promise.race([asked.accountInfo(), late()]);
    prompts.end();
    asked.close();
    if (account === "late") return { ok: false, problem: "missing", detail: "it does not answer" };
    const { tokenSource = "none", apiKeySource = "none", apiProvider = "firstParty", email } = account;
    if (apiProvider === "firstParty" && tokenSource === "none" && apiKeySource === "none")
      return { ok: false, problem: "no-login", detail: "" };
    return { ok: true, account: email ?? (apiKeySource === "none" ? tokenSource : apiKeySource) };
  } catch (error) {
    return { ok: false, problem: "missing", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    await sweep((candidate) => candidate === marker);
  }
}

const KEYS = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/** With a key in its environment there is no login to ask for: it is enough that it starts. */
export async function checkQuickly(
  executable: string | undefined,
  env: Record<string, string>,
  cwd: string,
): Promise<AgentCheck> {
  const key = KEYS.find((name) => (env[name] ?? "") !== "");
  const path = executable ?? bundled();
  if (key === undefined || path === undefined) return checkClaude(executable, env, cwd);
  const failed = await new Promise<Error | null>((resolve) => {
    execFile(path, ["--version"], { env, cwd, timeout: LIMIT_MS }, (error) => resolve(error));
  });
  return failed === null ? { ok: true, account: key } : { ok: false, problem: "missing", detail: failed.message };
}

const late = (): Promise<"late"> => new Promise((resolve) => setTimeout(() => resolve("late"), LIMIT_MS).unref());
