/** The agent that the configuration names. */
import type { Agent } from "../agents/agent.js";
import { AGENTS, agentNames } from "../agents/registry.js";
import { bad, good, type Result } from "../engine/failure.js";

export async function agentFor(name: string, whose: "user" | "bundled"): Promise<Result<Agent>> {
  const entry = AGENTS[name];
  if (entry === undefined) return bad({ type: "unknown-agent", agent: name, known: agentNames() });
  return good(await entry.load({ whose, env: process.env }));
}
