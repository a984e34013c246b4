/** The agents there are. A new one is a folder here, a line in this list, and a page in the documents. */
import { ACP } from "./acp/command.js";
import type { Agent } from "./agent.js";

export interface AgentChoice {
  /** The user's own program, or one that comes with Segno. */
  whose: "user" | "bundled";
  env: Readonly<Record<string, string | undefined>>;
}

interface Entry {
  /** Loaded when it is used. */
  load(choice: AgentChoice): Promise<Agent>;
}

export const AGENTS: Readonly<Record<string, Entry>> = {
  claude: { load: async (choice) => (await import("./claude/agent.js")).findClaude(choice) },
  codex: { load: async (choice) => (await import("./codex/agent.js")).findCodex(choice) },
  copilot: { load: async (choice) => (await import("./copilot/agent.js")).findCopilot(choice) },
  gemini: { load: async (choice) => (await import("./gemini/agent.js")).findGemini(choice) },
  opencode: { load: async (choice) => (await import("./opencode/agent.js")).findOpencode(choice) },
};

export const isCommand = (name: string): boolean => name.startsWith(ACP);

/** Undefined where there is none of that name; `acp:command args` names whatever speaks the Agent Client Protocol. */
export const agentEntry = (name: string): Entry | undefined =>
  isCommand(name) ? { load: async (choice) => (await import("./acp/agent.js")).findAcp(name, choice) } : AGENTS[name];

export const agentNames = (): string[] => Object.keys(AGENTS);
