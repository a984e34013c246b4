import { agentContract } from "../support/agent-contract.js";
import { inProcessAgent } from "../support/in-process-agent.js";
import { scratchFolder } from "../support/scratch.js";

agentContract(
  "in process",
  async (behaviour) => ({
    agent: inProcessAgent({ behaviour }),
    env: { PATH: process.env.PATH ?? "", HOME: scratchFolder() },
  }),
  { isProcess: false },
);
