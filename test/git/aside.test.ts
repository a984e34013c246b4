/** What a failed phase left leaves the checkout and comes back, and nothing of the user's is touched. */
import { existsSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bringBack, setAside } from "../../src/git/aside.js";
import type { CommitRequest } from "../../src/git/commit.js";
import { Git } from "../../src/git/git.js";
import { takeBaseline } from "../../src/git/start.js";
import { git, scratchRepo } from "../support/scratch.js";

const REF = "refs/segno/r/aside/1-a1";
const FILES = { "src/a.txt": "one\ntwo\nthree\nfour\nfive\n", "src/b.txt": "b\n", "gone.txt": "here\n" };

async function prepared() {
  const repo = scratchRepo(FILES);
  const write = (path: string, text: string) => {
    mkdirSync(join(repo, path, ".."), { recursive: true });
    writeFileSync(join(repo, path), text);
  };
  const read = (path: string) => readFileSync(join(repo, path), "utf8");
  // The user's own, before the phase begins.
  write("mine.txt", "untracked\n");
  write("src/b.txt", "b, edited by the user\n");
  const handle = new Git(repo);
  const { head, baseline, staged } = await takeBaseline(handle, "r", "phase-1-a1");
  const request: CommitRequest = {
    message: "left",
    run: "r",
    command: "1/a1/commit/1",
    trailers: [],
    baseline,
    head,
    staged,
    usersPaths: new Map(),
    branch: git(repo, "branch", "--show-current"),
    limits: { maxFileBytes: 1e6, maxBinaryBytes: 1e6 },
    plan: { files: [], marked: new Map() },
  };
  return { repo, write, read, handle, request };
}

describe("what a failed phase left", () => {
  test("is in a commit and out of the checkout; what is not its alone stays and is named; it comes back whole", async () => {
    const { repo, write, read, handle, request } = await prepared();
    write("src/a.txt", "one\nTWO\nthree\nfour\nfive\n");
    write("new/deep/file.txt", "new\n");
    write("src/b.txt", "b, edited by the user\nand by the phase\n");
    write(".env", "SECRET=1\n");
    git(repo, "rm", "--quiet", "--cached", "gone.txt");
    unlinkSync(join(repo, "gone.txt"));
    git(repo, "add", "new/deep/file.txt");
    const aside = await setAside(handle, request, REF);
    expect(aside?.stayed.toSorted()).toEqual([".env", "src/b.txt"]);
    expect(git(repo, "rev-parse", REF)).toBe(aside?.sha);
    expect(git(repo, "status", "--porcelain").split("\n").toSorted()).toEqual(
      [" M src/b.txt", "?? .env", "?? mine.txt"].toSorted(),
    );
    expect([existsSync(join(repo, "new")), read("gone.txt"), read("mine.txt")]).toEqual([
      false,
      "here\n",
      "untracked\n",
    ]);
    // Repeated after a crash it is the same.
    expect((await setAside(handle, request, REF))?.sha).toBe(aside?.sha);
    expect(await bringBack(handle, { base: `${aside?.sha ?? ""}^`, theirs: aside?.sha ?? "" })).toEqual({
      conflicts: [],
    });
    expect([read("src/a.txt").split("\n")[1], read("new/deep/file.txt"), existsSync(join(repo, "gone.txt"))]).toEqual([
      "TWO",
      "new\n",
      false,
    ]);
    expect(await bringBack(handle, { base: `${aside?.sha ?? ""}^`, theirs: aside?.sha ?? "" })).toEqual({
      conflicts: [],
    });
  });

  test("comes back by a three-way merge; the same lines changed by others stay theirs, and are named", async () => {
    const { repo, write, read, handle, request } = await prepared();
    write("src/a.txt", "one\nTWO\nthree\nfour\nfive\n");
    write("gone.txt", "changed by the phase\n");
    const aside = await setAside(handle, request, REF);
    write("src/a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    write("gone.txt", "changed by another phase\n");
    git(repo, "commit", "--quiet", "-am", "another phase");
    expect(await bringBack(handle, { base: `${aside?.sha ?? ""}^`, theirs: aside?.sha ?? "" })).toEqual({
      conflicts: ["gone.txt"],
    });
    expect(read("src/a.txt")).toBe("one\nTWO\nthree\nfour\nFIVE\n");
    expect(read("gone.txt")).toBe("changed by another phase\n");
  });

  test("what was edited since it was kept does not leave; on another branch nothing is touched", async () => {
    const { repo, write, read, handle, request } = await prepared();
    write("src/a.txt", "by the phase\n");
    const aside = await setAside(handle, request, REF);
    write("src/a.txt", "by somebody else meanwhile\n");
    expect((await setAside(handle, request, REF))?.stayed).toEqual(["src/a.txt"]);
    expect(read("src/a.txt")).toBe("by somebody else meanwhile\n");
    git(repo, "switch", "--quiet", "-c", "elsewhere");
    expect(await setAside(handle, request, "refs/segno/r/aside/1-a2")).toBeUndefined();
    expect(aside?.sha).toBeDefined();
  });
});
