import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Git } from "../../src/git/git.js";
import { snapshotTree } from "../../src/git/trees.js";
import { git, scratchRepo } from "../support/scratch.js";

test("a change of the same size in the second of the checkout is seen, however much later one looks", async () => {
  const repo = scratchRepo({ "a.txt": "old a\n" });
  // As near to the beginning of a second as can be, so that all of it happens in one.
  await sleep(1_010 - (Date.now() % 1_000));
  git(repo, "rm", "--quiet", "--cached", "a.txt");
  git(repo, "reset", "--quiet", "--hard");
  writeFileSync(join(repo, "a.txt"), "new a\n");
  await sleep(1_200);
  const tree = await snapshotTree(new Git(repo));
  expect(git(repo, "cat-file", "blob", `${tree}:a.txt`)).toBe("new a");
});
