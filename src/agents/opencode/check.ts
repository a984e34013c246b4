/** Whether opencode can be started, is new enough and has a model, found out without a model call. */
import { execFile } from "node:child_process";
import type { AgentCheck } from "../agent.js";

const LIMIT_MS = 30_000;
/** The oldest whose plugins are known to be asked before each call. */
const OLDEST = [1, 18, 0];

export async function checkOpencode(
  executable: string | undefined,
  env: Record<string, string>,
  cwd: string,
  quickly: boolean,
): Promise<AgentCheck> {
  if (executable === undefined) return { ok: false, problem: "missing", detail: "it is not installed" };
  const version = /(\d+)\.(\d+)\.(\d+)/.exec((await output(executable, ["--version"], env, cwd)) ?? "");
  if (version === null) return { ok: false, problem: "missing", detail: "it does not start" };
  const numbers = version.slice(1).map(Number);
  if (isOlder(numbers)) {
    const detail = `${numbers.join(".")} is too old: ${OLDEST.join(".")} or later is needed`;
    return { ok: false, problem: "missing", detail };
  }
  if (quickly) return { ok: true, account: "its own providers" };
  const models =
    (await output(executable, ["models"], env, cwd))?.split("\n").filter((line) => line.includes("/")) ?? [];
  if (models.length === 0) return { ok: false, problem: "no-login", detail: "it has no model" };
  const providers = [...new Set(models.map((line) => line.split("/")[0]?.trim() ?? ""))];
  return { ok: true, account: providers.slice(0, 4).join(", ") };
}

function isOlder(version: readonly number[]): boolean {
  for (const [n, least] of OLDEST.entries()) if (version[n] !== least) return (version[n] ?? 0) < least;
  return false;
}

/** Undefined where it cannot be carried out. */
export function output(
  executable: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { env, timeout: LIMIT_MS, maxBuffer: 1024 ** 3, ...(cwd === undefined ? {} : { cwd }) };
    execFile(executable, args, options, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
}
