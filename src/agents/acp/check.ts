/** Whether an ACP agent can be started and speaks what we need, found out without a model call. */

import type { AgentCheck } from "../agent.js";
import { isObject } from "../is-object.js";
import { MARKER, sweep } from "../processes.js";
import { within } from "../within.js";
import { Connection, errorOf } from "./connection.js";
import { lackIn } from "./session.js";

const LIMIT_MS = 30_000;

export async function checkAcp(
  command: readonly string[],
  env: Record<string, string>,
  cwd: string,
): Promise<AgentCheck> {
  const marker = `check:${process.pid}:${performance.now()}`;
  const connection = new Connection(
    command,
    cwd,
    { ...env, [MARKER]: marker },
    {
      updated: () => {},
      asked: () => ({ outcome: { outcome: "cancelled" } }),
    },
  );
  try {
    const asked = connection.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const told = await within(LIMIT_MS, asked);
    const lack = lackIn(told);
    if (lack !== undefined) return { ok: false, problem: "missing", detail: lack };
    const { name, title = name, version } = isObject(told.agentInfo) ? told.agentInfo : {};
    return { ok: true, account: [title, version].filter((word) => typeof word === "string").join(" ") || "its own" };
  } catch (error) {
    const message = connection.isClosed ? await connection.over : (errorOf(error).message ?? "");
    const said = connection.lastWords;
    return { ok: false, problem: "missing", detail: said === "" ? message : `${message}: ${said}` };
  } finally {
    await connection.end();
    await sweep((each) => each === marker);
  }
}
