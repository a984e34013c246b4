// `segno --version` against a bare `node -e 0`.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median, report, timed } from "./measure.mjs";

const SEGNO = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const run = (args) => timed(() => execFileSync(process.execPath, args, { stdio: "ignore" }));
const [bare, version, help] = [[], [], []];
for (let n = 0; n < 25; n++) {
  bare.push(run(["-e", "0"]));
  version.push(run([SEGNO, "--version"]));
  help.push(run([SEGNO, "--help"]));
}
const base = median(bare);
report("start-up", [
  ["node -e 0", `${base.toFixed(0)} ms`],
  [
    "segno --version",
    `${median(version).toFixed(0)} ms, ${(median(version) / base).toFixed(2)} times`,
    "1.5 times, never above 2.5",
  ],
  ["segno --help", `${median(help).toFixed(0)} ms, ${(median(help) / base).toFixed(2)} times`],
]);
