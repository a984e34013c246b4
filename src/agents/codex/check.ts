/** Whether Codex can be started, is new enough and is logged in, found out without a model call. */
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { AgentCheck } from "../agent.js";
import { MARKER, sweep } from "../processes.js";
import { Rpc } from "./rpc.js";

const LIMIT_MS = 20_000;
/** The first version whose hooks are asked before each call. */
const OLDEST = [0, 164, 0];

export async function checkCodex(
  executable: string | undefined,
  env: Record<string, string>,
  cwd: string,
): Promise<AgentCheck> {
  if (executable === undefined) return { ok: false, problem: "missing", detail: "it is not installed" };
  const version = await versionOf(executable, env, cwd);
  if (version === undefined) return { ok: false, problem: "missing", detail: "it does not start" };
  if (isOlder(version)) {
    const detail = `${version.join(".")} is too old: ${OLDEST.join(".")} or later is needed`;
    return { ok: false, problem: "missing", detail };
  }
  if ((env.OPENAI_API_KEY ?? "") !== "") return { ok: true, account: "OPENAI_API_KEY" };
  return loginOf(executable, env, cwd);
}

function versionOf(executable: string, env: Record<string, string>, cwd: string): Promise<number[] | undefined> {
  return new Promise((resolve) => {
    execFile(executable, ["--version"], { env, cwd, timeout: LIMIT_MS }, (error, stdout) => {
      const [, ...numbers] = /(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
      resolve(error !== null || numbers.length === 0 ? undefined : numbers.map(Number));
    });
  });
}

function isOlder(version: readonly number[]): boolean {
  for (const [n, least] of OLDEST.entries()) if (version[n] !== least) return (version[n] ?? 0) < least;
  return false;
}

async function loginOf(executable: string, env: Record<string, string>, cwd: string): Promise<AgentCheck> {
  const marker = `check:${randomUUID()}`;
  const child = spawn(executable, ["app-server"], { cwd, env: { ...env, [MARKER]: marker }, stdio: "pipe" });
  child.on("error", () => {});
  const rpc = new Rpc(child.stdout, child.stdin, () => {});
  child.on("exit", () => rpc.ended(new Error("it ended")));
  const timer = setTimeout(() => rpc.ended(new Error("it does not answer")), LIMIT_MS);
  try {
    await rpc.request("initialize", { clientInfo: { name: "segno", title: "Segno", version: "1" } });
    rpc.notify("initialized");
    const { account, requiresOpenaiAuth } = await rpc.request<{
      account: { email?: string; type?: string } | null;
      requiresOpenaiAuth: boolean;
    }>("account/read", {});
    if (account === null && requiresOpenaiAuth) return { ok: false, problem: "no-login", detail: "" };
    return { ok: true, account: account?.email ?? account?.type ?? "its own provider" };
  } catch (error) {
    return { ok: false, problem: "missing", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
    child.stdin.end();
    await sweep((candidate) => candidate === marker);
  }
}
