// What comes before the tests, all at once: the build, lint, types, and what the tests need of others.
import { spawn } from "node:child_process";

const STEPS = [
  ["npm", "run", "--silent", "build"],
  ["npm", "run", "--silent", "lint"],
  ["npm", "run", "--silent", "typecheck"],
  [process.execPath, "scripts/chromium.mjs"],
  [process.execPath, "scripts/agents.mjs"],
];

const run = ([program, ...args]) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += data));
    child.on("error", (error) => resolve({ ok: false, said: String(error) }));
    child.on("close", (code) => resolve({ ok: code === 0, said }));
  });

let ok = true;
await Promise.all(
  STEPS.map(async (step) => {
    const ended = await run(step);
    ok &&= ended.ok;
    const text = ended.said.trim();
    if (text !== "" || !ended.ok) console.log(`${ended.ok ? "" : "FAILED: "}${step.slice(1).join(" ")}\n${text}\n`);
  }),
);
process.exitCode = ok ? 0 : 1;
