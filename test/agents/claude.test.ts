import { claudeAgent } from "../../src/agents/claude/agent.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { agentContract } from "../support/agent-contract.js";
import { scratchFolder, whenOver } from "../support/scratch.js";

agentContract("Claude Code", async (behaviour) => {
  const standIn = await startStandIn({ window: 200_000, behaviour });
  whenOver(() => standIn.close());
  const home = scratchFolder();
  const env = rehearsalEnv({ folder: home, repository: home, home }, standIn.url);
  return { agent: claudeAgent(undefined), env };
});
