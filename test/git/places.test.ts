/** The top of a checkout is the one that git names, whether git is asked or not. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { topOf } from "../../src/git/places.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";

const asGitSays = (folder: string): string => git(folder, "rev-parse", "--show-toplevel");

describe("the top of a checkout", () => {
  test("is git's own word: at the top, below it, in a worktree and in a repository inside another", async () => {
    const repo = scratchRepo({ "a/b/c.txt": "c" });
    const worktree = join(scratchFolder(), "tree");
    git(repo, "worktree", "add", "--quiet", worktree);
    const inner = join(repo, "inner");
    mkdirSync(inner);
    git(inner, "init", "--quiet");
    mkdirSync(join(inner, "deep"));
    for (const folder of [repo, join(repo, "a/b"), worktree, join(worktree, "a"), inner, join(inner, "deep")])
      expect(await topOf(folder)).toBe(asGitSays(folder));
  });

  test("is none outside, in the git directory and where .git is something else", async () => {
    const folder = scratchFolder();
    expect(await topOf(folder)).toBeUndefined();
    mkdirSync(join(folder, ".git"));
    expect(await topOf(folder)).toBeUndefined();
    expect(await topOf(join(scratchRepo({}), ".git"))).toBeUndefined();
  });

  test("is where its configuration says, if that is elsewhere", async () => {
    const [repo, elsewhere] = [scratchRepo({}), scratchFolder()];
    writeFileSync(join(elsewhere, "x"), "");
    git(repo, "config", "core.worktree", elsewhere);
    expect(await topOf(repo)).toBe(asGitSays(repo));
  });
});
