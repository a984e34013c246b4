// A phase's commit in a repository of 50,000 files, against plain `git add` of the same paths and `git commit`.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commitChanges } from "../build/git/commit.js";
import { Git } from "../build/git/git.js";
import { takeBaseline } from "../build/git/start.js";
import { median, report, scratch } from "./measure.mjs";

const FILES = Number(process.env.FILES ?? 50_000);
const CHANGED = 20;
const repo = scratch();
const git = (...args) => execFileSync("git", args, { cwd: repo, stdio: ["ignore", "pipe", "ignore"] });
git("init", "--quiet", "--initial-branch=main");
git("config", "user.name", "Bench");
git("config", "user.email", "bench@segno.invalid");
for (let n = 0; n < FILES; n++) {
  const folder = join(repo, `d${n % 500}`);
  if (n < 500) mkdirSync(folder);
  writeFileSync(join(folder, `f${n}.txt`), `file ${n}\n`);
}
git("add", "--all");
git("commit", "--quiet", "-m", "start");

const change = (round) => {
  const paths = Array.from({ length: CHANGED }, (_, n) => `d${n}/f${n}.txt`);
  for (const path of paths) writeFileSync(join(repo, path), `round ${round} ${Math.random()}\n`);
  return paths;
};
const handle = new Git(repo);
const [plain, ours] = [[], []];
for (let round = 0; round < 5; round++) {
  const paths = change(`plain ${round}`);
  let began = performance.now();
  git("add", "--", ...paths);
  git("commit", "--quiet", "-m", "plain");
  plain.push(performance.now() - began);
  const { head, baseline, staged } = await takeBaseline(handle, "bench", `phase-${round}`);
  change(`ours ${round}`);
  began = performance.now();
  await commitChanges(handle, {
    message: "ours",
    run: "bench",
    command: `1/a1/commit/${round}`,
    trailers: [],
    baseline,
    head,
    staged,
    usersPaths: new Map(),
    branch: "main",
    limits: { maxFileBytes: 1e7, maxBinaryBytes: 1e6 },
    plan: { files: [], marked: new Map() },
  });
  ours.push(performance.now() - began);
}
report(`a commit of ${CHANGED} files in a repository of ${FILES}`, [
  ["git add and git commit", `${median(plain).toFixed(0)} ms`],
  ["Segno", `${median(ours).toFixed(0)} ms, ${(median(ours) / median(plain)).toFixed(2)} times`, "2 times"],
]);
