/** Which `claude` to use: the user's own for their runs, the bundled one for rehearsals. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Agent } from "../agents/agent.js";
import { claudeAgent } from "../agents/claude.js";

export function agentFor(whose: "user" | "bundled"): Agent {
  return claudeAgent(whose === "user" ? (process.env.SEGNO_CLAUDE ?? onPath("claude")) : process.env.SEGNO_CLAUDE);
}

function onPath(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // Not here.
    }
  }
  return undefined;
}
