/** Gemini CLI held to the contract: the real program, against the stand-in's `generateContent`. */
import { existsSync } from "node:fs";
import { describe, test } from "vitest";
import { geminiAgent } from "../../src/agents/gemini/agent.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { agentContract } from "../support/agent-contract.js";
import { scratchFolder, whenOver } from "../support/scratch.js";
import { GEMINI } from "../support/segno.js";

if (existsSync(GEMINI))
  agentContract(
    "Gemini CLI",
    async (behaviour) => {
      const standIn = await startStandIn({ window: 1_000_000, behaviour });
      whenOver(() => standIn.close());
      const home = scratchFolder();
      const env = rehearsalEnv({ folder: home, repository: home, home }, standIn.url);
      return { agent: geminiAgent(GEMINI), env };
    },
    {
      model: "gemini-2.5-pro",
      window: 1_048_576,
      compactAt: 524_288,
      inOrder: false,
      shell: "execute",
      writes: "edit",
      price: undefined,
    },
  );
else describe("Gemini CLI", () => test.skip("is not installed: npm run test:agents", () => {}));
