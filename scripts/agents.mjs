// Other vendors' agents for `npm run test:agents`, from the registry into a folder of their own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../.agents", import.meta.url));
const AGENTS = ["@openai/codex@0.166.0", "opencode-ai@1.18.33"];

mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), "{}\n");
for (const agent of AGENTS) {
  const name = agent.slice(0, agent.lastIndexOf("@"));
  if (existsSync(join(folder, "node_modules", name))) continue;
  const { status } = spawnSync("npm", ["install", "--prefix", folder, "--no-save", agent], { stdio: "inherit" });
  if (status !== 0) console.error(`${agent} cannot be installed here: its tests are skipped.`);
}
