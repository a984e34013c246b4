// Other vendors' agents for the tests, from the registry into a folder of their own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../.agents", import.meta.url));
// CI keeps the contracts of two; `test:agents` has all.
const AGENTS = ["@openai/codex@0.166.0", "opencode-ai@1.18.33"];
if (process.argv.includes("all")) AGENTS.push("@google/gemini-cli@0.61.0", "@github/copilot-sdk@1.0.14");

mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), "{}\n");
const nameOf = (agent) => agent.slice(0, agent.lastIndexOf("@"));
const isThere = (agent) => existsSync(join(folder, "node_modules", nameOf(agent)));
// All at once: what is not named is taken away again.
if (!AGENTS.every(isThere))
  spawnSync("npm", ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", ...AGENTS], {
    stdio: "inherit",
  });
for (const agent of AGENTS.filter((each) => !isThere(each)))
  console.error(`${agent} cannot be installed here: its tests are skipped.`);
