// All benchmarks, one after the other: npm run bench
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

for (const name of process.argv.slice(2).length > 0
  ? process.argv.slice(2)
  : [
      "startup",
      "events",
      "plan",
      "audit",
      "latency",
      "decide",
      "parallel",
      "team",
      "handover",
      "agents",
      "policy",
      "economy",
      "meter",
      "commit",
      "screens",
    ]) {
  const { status } = spawnSync(process.execPath, [fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))], {
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
}
