/** Codex held to the contract: the real program, against the stand-in's Responses API. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { codexAgent } from "../../src/agents/codex/agent.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { agentContract, type MakeAgent } from "../support/agent-contract.js";
import { scratchFolder, whenOver } from "../support/scratch.js";

const CODEX = fileURLToPath(new URL("../../.agents/node_modules/.bin/codex", import.meta.url));

const make: MakeAgent = async (behaviour) => {
  const standIn = await startStandIn({ window: 200_000, behaviour });
  whenOver(() => standIn.close());
  const home = scratchFolder();
  const env = rehearsalEnv({ folder: home, repository: home, home }, standIn.url);
  return { agent: codexAgent(CODEX), env };
};
const about = { window: 190_000, compactAt: 180_000, inOrder: false, writes: "apply_patch", price: undefined };

if (existsSync(CODEX)) {
  agentContract("Codex", make, about);
  // Its current models have one tool that takes JavaScript, and would not see ours among it.
  if (process.env.AGENTS === "all") agentContract("Codex in code mode", make, { ...about, model: "gpt-6.1-sol" });
} else describe("Codex", () => test.skip("is not installed: npm run test:agents", () => {}));
