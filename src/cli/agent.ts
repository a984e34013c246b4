/** The agent that the configuration names. */

import { withAccount } from "../agents/account.js";
import type { Agent } from "../agents/agent.js";
import { agentEntry, agentNames } from "../agents/registry.js";
import type { Config } from "../config/schema.js";
import { bad, good, type Result } from "../engine/failure.js";

export async function agentFor(
  name: string,
  whose: "user" | "bundled",
  accounts: Config["accounts"] = {},
): Promise<Result<Agent>> {
  const account = accounts[name];
  const entry = agentEntry(account?.agent ?? name);
  if (entry === undefined)
    return bad({
      type: "unknown-agent",
      agent: account?.agent ?? name,
      known: [...agentNames(), ...Object.keys(accounts)],
    });
  const agent = await entry.load({ whose, env: process.env });
  return good(account === undefined ? agent : withAccount(agent, name, account));
}
