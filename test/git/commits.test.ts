/** Commits in repositories of people with hooks, secrets and habits, with the real git and the real Claude Code. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerQuestion } from "../../src/engine/questions.js";
import { call, message } from "../../src/rehearsal/reply.js";
import { userTexts } from "../../src/rehearsal/request.js";
import { firstly } from "../support/behaviours.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

const TOKEN = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
const shell = (command: string) => call("Bash", { command, description: "work" });

function hook(repo: string, name: string, script: string): void {
  const file = join(repo, ".git/hooks", name);
  mkdirSync(join(repo, ".git/hooks"), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

describe.concurrent("secrets", () => {
  test("stop the commit, are named with file and line, and go to repair; nothing of them is committed", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    let repaired = false;
    const leak = firstly(shell(`mkdir -p out; echo 'const t = "${TOKEN}"' > out/config.js`));
    const run = await rehearse({
      repo,
      behave: (request, worker) => {
        if (
          !repaired &&
          (request.tools ?? []).length > 0 &&
          userTexts(request).some((text) => text.includes("## Failing gates"))
        ) {
          repaired = true;
          return message(shell("echo 'const t = process.env.TOKEN' > out/config.js"));
        }
        return leak(request, worker);
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("commit-refused")[0]?.why).toContain("out/config.js:1: ");
    expect(repaired).toBe(true);
    expect(git(repo, "log", "-p", "--all")).not.toContain(TOKEN);
    expect(git(repo, "show", "HEAD:out/config.js")).toContain("process.env.TOKEN");
  });

  test("key files and .env are never staged, whatever is in them", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({
      repo,
      behave: firstly(shell("echo A=1 > .env; echo x > server.key; echo ok > fine.txt")),
    });
    expect(run.status).toBe("completed");
    const tree = git(repo, "ls-tree", "-r", "--name-only", "HEAD").split("\n");
    expect(tree).toContain("fine.txt");
    expect(tree).not.toContain(".env");
    expect(tree).not.toContain("server.key");
    expect(existsSync(join(repo, ".env"))).toBe(true);
    expect(run.of("commit-made")[0]?.leftOut.sort()).toEqual([".env", "server.key"]);
  });

  test("an agent's own commit that holds one fails the phase, and nothing is rewritten", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({
      repo,
      behave: firstly(
        shell(
          `echo '${TOKEN}' > leak.txt && git add leak.txt && git -c user.name=a -c user.email=a@b.c commit -qm mine`,
        ),
      ),
    });
    expect(run.status).toBe("failed");
    expect(run.of("commit-failed")[0]?.why).toMatch(
      /Commit \w+, which Segno did not make, holds what must not be committed: leak.txt:1/,
    );
    expect(git(repo, "log", "-1", "--format=%s")).toBe("mine");
  });

  test("a file that is too large is not committed", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const run = await rehearse({
      repo,
      config: { max_file_mb: 0.1, max_remediations: 0 },
      behave: firstly(shell("head -c 300000 /dev/zero | tr '\\0' a > big.txt")),
    });
    expect(run.status).toBe("failed");
    expect(run.of("commit-refused")[0]?.why).toContain("big.txt: too large: 0.3 MB");
    expect(existsSync(join(repo, "big.txt"))).toBe(true);
  });
});

describe.concurrent("hooks", () => {
  test("a failing hook is a failing gate: its words go to the repair, and then the commit is made", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    hook(repo, "pre-commit", "test -f approved.txt || { echo 'NEEDS approved.txt' >&2; exit 1; }");
    let seen = "";
    const run = await rehearse({
      repo,
      behave: (request, worker) => {
        const repair = userTexts(request).find((text) => text.includes("## Failing gates"));
        if (repair === undefined || seen !== "" || (request.tools ?? []).length === 0) return worker(request);
        seen = repair;
        return message(shell("touch approved.txt"));
      },
    });
    expect(run.status).toBe("completed");
    expect(seen).toContain("NEEDS approved.txt");
    expect(git(repo, "ls-tree", "--name-only", "HEAD")).toContain("approved.txt");
  });

  test("what a hook changes and adds is in the commit, and the user's next commit does not take it back", async () => {
    const repo = scratchRepo({ ...planFiles([{ id: "1" }]), "stamp.txt": "old\n" });
    hook(repo, "pre-commit", "echo stamped > stamp.txt && git add stamp.txt");
    const run = await rehearse({ repo });
    expect(run.status).toBe("completed");
    expect(git(repo, "show", "HEAD:stamp.txt")).toBe("stamped");
    expect(git(repo, "status", "--porcelain")).toBe("");
  });
});

describe.concurrent("who did what", () => {
  test("an agent that switches to a branch of the user's fails the phase; its work stays where it is", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    git(repo, "branch", "elsewhere");
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "second");
    const run = await rehearse({ repo, behave: firstly(shell("git switch -q elsewhere")) });
    expect(run.status).toBe("failed");
    expect(run.of("commit-failed")[0]?.why).toContain("The branch was switched from main to elsewhere");
    expect(existsSync(join(repo, "out/1-1.txt"))).toBe(true);
  });

  test("a stash that an agent makes is left alone and reported", async () => {
    const repo = scratchRepo({ ...planFiles([{ id: "1" }]), "a.txt": "a\n" });
    const run = await rehearse({
      repo,
      behave: firstly(shell("echo changed > a.txt && git -c user.name=a -c user.email=a@b.c stash -q")),
    });
    expect(run.status).toBe("completed");
    expect(
      run
        .of("warned")
        .some((event) => event.message.includes("Stashed while phase 1 worked, and in no commit: stash@{0}")),
    ).toBe(true);
    expect(git(repo, "stash", "list").split("\n")).toHaveLength(1);
  });

  test("HEAD moved away between phases is a question; one with more commits on top is not", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }, { id: "3" }]));
    const start = git(repo, "rev-parse", "HEAD");
    const run = await rehearse({
      repo,
      onEvent: (event, held) => {
        if (event.type === "phase-done" && event.phase === "1") git(repo, "reset", "-q", "--hard", start);
        if (event.type === "phase-done" && event.phase === "2")
          git(repo, "commit", "-q", "--allow-empty", "-m", "by hand");
        if (event.type === "question-asked" && held !== undefined)
          queueMicrotask(() => answerQuestion(held.run, event.question, "continue", "test"));
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("question-asked").map((event) => event.kind)).toEqual(["head"]);
    expect(run.of("warned").some((event) => event.message.includes("1 commits that are not the run's came in"))).toBe(
      true,
    );
  });
});

describe.concurrent("HEAD moved while a person was asked something else", () => {
  test("is asked about after the answer", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }]));
    const start = git(repo, "rev-parse", "HEAD");
    const run = await rehearse({
      repo,
      config: { checkpoint_every: 1 },
      onEvent: (event, held) => {
        if (event.type === "question-asked" && event.kind === "checkpoint") git(repo, "reset", "-q", "--hard", start);
        if (event.type === "question-asked" && held !== undefined)
          queueMicrotask(() => answerQuestion(held.run, event.question, "continue", "test"));
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("question-asked").map((event) => event.kind)).toEqual(["checkpoint", "head"]);
  });
});

describe.concurrent("branches and the way back", () => {
  test("--branch auto works on a new branch; diff shows, undo reverts one phase, then moves the branch back", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }]));
    const start = git(repo, "rev-parse", "HEAD");
    const place = await site({ repo });
    const ran = await place.segno(["run", "PLAN.md", "--branch", "auto"]).ended;
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("branch segno/plan");
    expect(git(repo, "branch", "--show-current")).toBe("segno/plan");
    expect(git(repo, "rev-parse", "main")).toBe(start);
    const diff = await place.segno(["diff", "--phase", "2"]).ended;
    expect(diff.stdout).toContain("+++ b/out/2-1.txt");
    expect(diff.stdout).not.toContain("+++ b/out/1-1.txt");
    writeFileSync(join(repo, "PLAN.md"), `${readFileSync(join(repo, "PLAN.md"), "utf8")}\nmine\n`);
    const refused = await place.segno(["undo"]).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("The working tree has changes: PLAN.md");
    git(repo, "checkout", "-q", "--", "PLAN.md");
    const undone = await place.segno(["undo", "--phase", "2"]).ended;
    expect(undone.stdout).toContain("1 commit was taken back by a new one");
    expect(existsSync(join(repo, "out/2-1.txt"))).toBe(false);
    expect(existsSync(join(repo, "out/1-1.txt"))).toBe(true);
    git(repo, "reset", "-q", "--hard", "HEAD^");
    const moved = await place.segno(["undo", "--move", "--json"]).ended;
    expect(JSON.parse(moved.stdout)).toMatchObject({ how: "moved", commits: 2, head: start });
    expect(git(repo, "rev-parse", "HEAD")).toBe(start);
    const cleaned = JSON.parse((await place.segno(["clean", "--json"]).ended).stdout);
    expect(cleaned.removed).toHaveLength(1);
    expect(git(repo, "for-each-ref", "refs/segno/")).toBe("");
  });

  test("auto_commit: false keeps snapshots that are listed, restorable and never cleaned away unasked", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const place = await site({ repo });
    expect((await place.segno(["run", "PLAN.md", "--no-auto-commit"]).ended).code).toBe(0);
    const { snapshots } = JSON.parse((await place.segno(["snapshots", "--json"]).ended).stdout);
    expect(snapshots).toHaveLength(1);
    git(repo, "clean", "-qfd", "out");
    git(repo, "restore", `--source=${snapshots[0].ref}`, "--", ".");
    expect(existsSync(join(repo, "out/1-1.txt"))).toBe(true);
    const kept = JSON.parse((await place.segno(["clean", "--json"]).ended).stdout);
    expect(kept.removed).toEqual([]);
    expect(kept.kept[0].why).toContain("snapshots");
  });

  test.each([
    [
      "no identity",
      (repo: string) => git(repo, "config", "user.useConfigOnly", "true"),
      "git does not know who you are",
    ],
    ["a sparse checkout", (repo: string) => git(repo, "config", "core.sparseCheckout", "true"), "is a sparse checkout"],
    ["a detached HEAD", (repo: string) => git(repo, "checkout", "-q", "--detach"), "No branch is checked out"],
  ])("%s is refused, with what to do", async (name, spoil, words) => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    spoil(repo);
    const place = await site({ repo });
    const env: Record<string, string> =
      name === "no identity" ? { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" } : {};
    const refused = await place.segno(["run", "PLAN.md"], { env }).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(words);
    if (name === "a detached HEAD")
      expect((await place.segno(["run", "PLAN.md", "--branch", "auto"]).ended).code).toBe(0);
  });
});

describe.concurrent("workspace: worktree", () => {
  test("the user goes on working in their checkout: nothing there is touched, all of the run is on its own branch", async () => {
    const repo = scratchRepo({
      ...planFiles([
        { id: "1", tasks: 2, gates: ["test -f prepared"] },
        { id: "2", dependsOn: ["1"], gates: ["true"] },
      ]),
      ".gitignore": "prepared\n",
    });
    writeFileSync(join(repo, "README.md"), "unsaved work\n");
    const place = await site({
      repo,
      behave: (request, worker) => {
        // The user types, adds and stages while the phase works.
        writeFileSync(join(repo, "notes.txt"), `${Math.random()}\n`);
        git(repo, "add", "notes.txt");
        return worker(request);
      },
    });
    const before = git(repo, "rev-parse", "HEAD");
    const env = { SEGNO_WORKSPACE: "worktree", SEGNO_WORKTREE_SETUP: "touch prepared" };
    const ran = await place.segno(["run", "PLAN.md"], { env }).ended;
    expect(ran.code).toBe(0);
    const branch = /git merge (segno\/\d+)/.exec(ran.stdout)?.[1] ?? "";
    expect(git(repo, "rev-parse", "HEAD")).toBe(before);
    expect(readFileSync(join(repo, "README.md"), "utf8")).toBe("unsaved work\n");
    expect(git(repo, "diff", "--cached", "--name-only")).toBe("notes.txt");
    expect(existsSync(join(repo, "out"))).toBe(false);
    const tree = git(repo, "ls-tree", "-r", "--name-only", branch).split("\n");
    expect(tree).toEqual(expect.arrayContaining(["out/1-1.txt", "out/1-2.txt", "out/2-1.txt"]));
    expect(tree.filter((path) => path.startsWith(".segno") || path === "notes.txt")).toEqual([]);
    expect(git(repo, "show", `${branch}:PLAN.md`)).toContain("| Completed |");
    expect(git(repo, "worktree", "list").split("\n")).toHaveLength(1);
    expect(JSON.parse((await place.segno(["status", "--json"]).ended).stdout).status).toBe("completed");
  });

  test("a run that was killed in its worktree is resumed there", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 3 }]));
    const place = await site({ repo });
    const env = { SEGNO_WORKSPACE: "worktree" };
    const running = place.segno(["run", "PLAN.md", "--json"], { env });
    await running.event((event) => event.type === "progress-reported");
    running.kill("SIGKILL");
    await running.ended;
    // How the user's own checkout stands is no matter.
    git(repo, "checkout", "--quiet", "--detach");
    const resumed = await place.segno(["resume", "--json"], { env }).ended;
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
    const branch = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/segno/");
    expect(git(repo, "ls-tree", "-r", "--name-only", branch)).toContain("out/1-3.txt");
    expect(git(repo, "status", "--porcelain")).toBe("");
  });
});
