/** Copilot held to the contract: its real SDK and runtime, against the stand-in's chat completions. */
import { existsSync } from "node:fs";
import { describe, test } from "vitest";
import { copilotAgent } from "../../src/agents/copilot/agent.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { agentContract } from "../support/agent-contract.js";
import { scratchFolder, whenOver } from "../support/scratch.js";
import { COPILOT_SDK } from "../support/segno.js";

if (existsSync(COPILOT_SDK))
  agentContract(
    "Copilot",
    async (behaviour) => {
      const standIn = await startStandIn({ window: 200_000, behaviour });
      whenOver(() => standIn.close());
      const home = scratchFolder();
      const env = rehearsalEnv({ folder: home, repository: home, home }, standIn.url);
      return { agent: copilotAgent(COPILOT_SDK), env };
    },
    { window: 200_000, compactAt: 160_000, inOrder: false, shell: "bash", writes: "create" },
  );
else describe("Copilot", () => test.skip("is not installed: npm run test:agents", () => {}));
