/** Killed while what a failed phase left is set aside: nothing of it is lost, and nothing is done twice. */
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";
import { isThorough } from "../support/thorough.js";

/** Git runs it after it wrote something; it kills whoever called git, once. */
const killer = (flag: string, when: string) => `#!/bin/sh
input=$(cat)
if [ ! -e "${flag}" ] && ${when}; then
  touch "${flag}"
  kill -9 $(awk '{print $4}' /proc/$PPID/stat)
fi
`;

// Each starts several real agents: `npm run test:complete`.
describe.skipIf(!isThorough).concurrent("kill -9", () => {
  test.each([
    ["once the commit is there", "reference-transaction", '[ "$1" = committed ] && echo "$input" | grep -q /aside/'],
    ["once it has left the checkout", "post-index-change", "git for-each-ref refs/segno | grep -q /aside/"],
  ])("%s", async (_, hook, when) => {
    const repo = scratchRepo({
      ...planFiles([{ id: "1", tasks: 2, gates: ["test -f wanted.txt"] }]),
      ".gitignore": "wanted.txt\n",
    });
    const flag = `${repo}.killed`;
    const file = join(repo, ".git/hooks", hook);
    writeFileSync(file, killer(flag, when));
    chmodSync(file, 0o755);
    const place = await site({ repo });
    const env = { SEGNO_MAX_REMEDIATIONS: "0" };
    const killed = await place.segno(["run", "PLAN.md", "--json"], { env }).ended;
    expect([killed.signal, existsSync(flag)]).toEqual(["SIGKILL", true]);
    writeFileSync(join(repo, "wanted.txt"), "");
    const resumed = await place.segno(["resume", "--json"], { env }).ended;
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(git(repo, "ls-files", "out").split("\n")).toEqual(["out/1-1.txt", "out/1-2.txt"]);
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(place.done).toEqual(["1/1.1", "1/1.2"]);
  });
});
