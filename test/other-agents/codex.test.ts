/** Codex held to the contract: the real program, against the stand-in's Responses API. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { codexAgent } from "../../src/agents/codex/agent.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { agentContract } from "../support/agent-contract.js";
import { scratchFolder, whenOver } from "../support/scratch.js";

const CODEX = fileURLToPath(new URL("../../.agents/node_modules/.bin/codex", import.meta.url));

if (existsSync(CODEX))
  agentContract(
    "Codex",
    async (behaviour) => {
      const standIn = await startStandIn({ window: 200_000, behaviour });
      whenOver(() => standIn.close());
      const home = scratchFolder();
      const env = rehearsalEnv({ folder: home, repository: home, home }, standIn.url);
      return { agent: codexAgent(CODEX), env };
    },
    { window: 190_000, compactAt: 180_000, inOrder: false, writes: "apply_patch", price: undefined },
  );
else describe("Codex", () => test.skip("is not installed: npm run test:agents", () => {}));
