/** opencode held to the contract: the real program, against the stand-in's chat completions. */
import { existsSync } from "node:fs";
import { describe, test } from "vitest";
import { opencodeAgent } from "../../src/agents/opencode/agent.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { agentContract } from "../support/agent-contract.js";
import { scratchFolder, whenOver } from "../support/scratch.js";
import { OPENCODE } from "../support/segno.js";

if (existsSync(OPENCODE))
  agentContract(
    "opencode",
    async (behaviour) => {
      const standIn = await startStandIn({ window: 200_000, behaviour });
      whenOver(() => standIn.close());
      const home = scratchFolder();
      const env = rehearsalEnv({ folder: home, repository: home, home }, standIn.url);
      return { agent: opencodeAgent(OPENCODE), env };
    },
    { window: 200_000, compactAt: 168_000, inOrder: false, shell: "bash", writes: "write", startsSlowly: true },
  );
else describe("opencode", () => test.skip("is not installed: npm run test:agents", () => {}));
