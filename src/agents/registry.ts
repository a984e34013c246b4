/** The agents there are. A new one is a folder here, a line in this list, and a page in the documents. */
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
  opencode: { load: async (choice) => (await import("./opencode/agent.js")).findOpencode(choice) },
};

export const agentNames = (): string[] => Object.keys(AGENTS);
