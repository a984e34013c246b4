import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Git } from "../../src/git/git.js";
import { untilWhole } from "../../src/git/half-made.js";
import { ensureWorktree, worktreeOf } from "../../src/git/worktree.js";
import { eventually } from "../support/eventually.js";
import { git, scratchFolder, scratchRepo, whenOver } from "../support/scratch.js";

const BRANCH = "segno/run/1";

/** A git that is at work on a worktree until this file is there, and whose files come late. */
async function slowWorktree() {
  const repo = scratchRepo({ "a.txt": "a\n", "z.slow": "z\n", ".gitattributes": "*.slow filter=slow\n" });
  const [go, places] = [join(scratchFolder(), "go"), scratchFolder()];
  git(repo, "config", "filter.slow.smudge", `until test -e '${go}'; do sleep 0.05; done; cat`);
  const place = join(places, `${repo.split("/").at(-1)}-segno-run-1`);
  const making = spawn("git", ["worktree", "add", "--quiet", "-b", BRANCH, place, "HEAD"], {
    cwd: repo,
    detached: true,
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => making.once("close", resolve));
  const end = (): void => {
    writeFileSync(go, "");
    if (making.exitCode === null && making.signalCode === null) process.kill(-(making.pid ?? 0), "SIGKILL");
  };
  whenOver(end);
  const own = join(repo, ".git/worktrees", place.split("/").at(-1) ?? "");
  await eventually("git has begun", () => existsSync(join(own, "locked")) && existsSync(join(own, "index.lock")));
  return { repo, go, places, place, own, ended, end };
}

const anHourAgo = (path: string): void => utimesSync(path, new Date(), new Date(Date.now() - 3_600_000));

describe("a worktree that is half made", () => {
  test("by a git that was killed with whoever started it: it is made anew, whole", async () => {
    const { repo, places, place, own, ended, end } = await slowWorktree();
    end();
    await ended;
    expect(existsSync(join(place, "z.slow"))).toBe(false);
    expect(await worktreeOf(new Git(repo), BRANCH)).toBeUndefined();
    anHourAgo(join(own, "locked"));
    expect(await ensureWorktree(new Git(repo), places, BRANCH, "HEAD")).toBe(place);
    expect(readFileSync(join(place, "z.slow"), "utf8")).toBe("z\n");
    expect(git(place, "status", "--porcelain")).toBe("");
  });

  test("by a git that goes on: it is waited for, and what it made is taken", async () => {
    const { repo, go, places, place, ended } = await slowWorktree();
    const ensured = ensureWorktree(new Git(repo), places, BRANCH, "HEAD");
    let isOver = false;
    void ensured.then(() => {
      isOver = true;
    });
    // Long enough for whoever would not wait.
    for (let n = 0; n < 20; n++) await worktreeOf(new Git(repo), BRANCH);
    expect(isOver).toBe(false);
    writeFileSync(go, "");
    await ended;
    expect(await ensured).toBe(place);
    expect(git(place, "status", "--porcelain")).toBe("");
  });

  test("so far that it has no HEAD: nothing could be fetched, and can be again", async () => {
    const { repo, own, ended, end } = await slowWorktree();
    end();
    await ended;
    writeFileSync(join(own, "HEAD"), `${"0".repeat(40)}\n`);
    const other = scratchFolder();
    git(repo, "clone", "--quiet", repo, other);
    git(other, "commit", "--quiet", "--allow-empty", "-m", "more");
    const fetch = () => new Git(repo).attempt(["fetch", "--quiet", other, "HEAD:refs/heads/more"]);
    expect((await fetch()).stderr).toContain("bad object");
    // With no way to where it was to be, too.
    rmSync(join(own, "gitdir"));
    anHourAgo(join(own, "locked"));
    await untilWhole(new Git(repo));
    expect((await fetch()).stderr).toBe("");
  });

  test("what the user has locked is theirs", async () => {
    const repo = scratchRepo({});
    const place = join(scratchFolder(), "theirs");
    git(repo, "worktree", "add", "--quiet", "--lock", "-b", "theirs", place);
    await untilWhole(new Git(repo));
    expect(await worktreeOf(new Git(repo), "theirs")).toBe(place);
  });
});
