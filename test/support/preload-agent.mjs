/** Adds the scripted agent to the list of agents of a Segno that a test starts; any other program is left alone. */
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";

const main = process.argv[1] === undefined ? "" : realpathSync(process.argv[1]);
if (main.endsWith("/dist/cli/main.js")) {
  const { AGENTS } = createRequire(main)("../agents/registry.js");
  AGENTS.scripted = {
    load: async () => (await import(new URL("../../.scripted/scripted-agent.js", import.meta.url).href)).agent,
  };
}
