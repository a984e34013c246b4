/** Commits over random repositories and random states of the user's work: nothing of theirs is lost, altered, staged or committed. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CommitRequest, commitChanges } from "../../src/git/commit.js";
import { Git } from "../../src/git/git.js";
import { takeBaseline } from "../../src/git/start.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";

const NAMES = [
  "plain.txt",
  "with space.txt",
  "ünïcödé.txt",
  "-dash.txt",
  'quo"te.txt',
  "deep/er/file.txt",
  "new\nline.txt",
  "[glob]*.txt",
  "crlf.txt",
];
const USER = ["clean", "staged", "unstaged", "both", "untracked", "ignored", "deleted", "deleted-staged"] as const;
const PHASE = ["leave", "edit", "delete", "mode", "symlink"] as const;

const anyState = fc.record({
  user: fc.array(fc.constantFrom(...USER), { minLength: NAMES.length, maxLength: NAMES.length }),
  phase: fc.array(fc.constantFrom(...PHASE), { minLength: NAMES.length, maxLength: NAMES.length }),
  fresh: fc.integer({ min: 0, max: 3 }),
  stash: fc.boolean(),
});

const request = (baseline: Awaited<ReturnType<typeof takeBaseline>>): CommitRequest => ({
  message: "Segno: Phase 1",
  run: "r1",
  command: "1/a1/commit/1",
  trailers: [],
  baseline: baseline.baseline,
  head: baseline.head,
  staged: baseline.staged,
  usersPaths: new Map(),
  branch: "main",
  limits: { maxFileBytes: 1e7, maxBinaryBytes: 1e6 },
  plan: { files: [], marked: new Map() },
});

function write(repo: string, name: string, content: string): void {
  const path = join(repo, name);
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(path, content);
}

const look = (repo: string, name: string): string => {
  const path = join(repo, name);
  if (!existsSync(path) && !isLink(path)) return "gone";
  return isLink(path)
    ? `link ${readlinkSync(path)}`
    : `${lstatSync(path).mode & 0o111 ? "x" : "-"} ${readFileSync(path, "utf8")}`;
};
const isLink = (path: string): boolean => {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
};

/** Index entries by path. */
const entries = (repo: string): Map<string, string> =>
  new Map(
    git(repo, "ls-files", "-s", "-z")
      .split("\0")
      .filter((line) => line !== "")
      .map((line) => [line.slice(line.indexOf("\t") + 1), line.slice(0, line.indexOf("\t"))]),
  );

function userWorks(repo: string, name: string, state: (typeof USER)[number]): void {
  const add = () => git(repo, "--literal-pathspecs", "add", "--", name);
  if (state === "staged" || state === "both") {
    write(repo, name, `user staged ${name}\r\n`);
    add();
  }
  if (state === "unstaged" || state === "both") write(repo, name, `user unstaged ${name}\r\n`);
  if (state === "deleted") rmSync(join(repo, name));
  if (state === "deleted-staged") git(repo, "--literal-pathspecs", "rm", "-q", "--", name);
}

function phaseWorks(repo: string, name: string, act: (typeof PHASE)[number]): void {
  const path = join(repo, name);
  if (act === "edit") write(repo, name, `phase ${name}\n`);
  if (act === "delete") rmSync(path, { force: true });
  if (act === "mode" && existsSync(path) && !isLink(path)) chmodSync(path, 0o755);
  if (act === "symlink") {
    rmSync(path, { force: true });
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync("plain.txt", path);
  }
}

describe("any repository, any state of the user's work", () => {
  test("nothing of the user's is lost, altered, staged or committed, and their next commit takes nothing back", async () => {
    await fc.assert(
      fc.asyncProperty(anyState, async ({ user, phase, fresh, stash }) => {
        const tracked = NAMES.filter((_, index) => user[index] !== "untracked" && user[index] !== "ignored");
        const repo = scratchRepo({
          ".gitignore": "",
          ...Object.fromEntries(tracked.map((name) => [name, `start ${name}\n`])),
        });
        if (stash) {
          writeFileSync(join(repo, ".gitignore"), "stashed\n");
          git(repo, "stash", "push", "-q");
        }
        const ignored = NAMES.filter((_, index) => user[index] === "ignored");
        if (ignored.length > 0)
          writeFileSync(
            join(repo, ".git/info/exclude"),
            ignored.map((name) => `/${name.replaceAll(/[[\]*\\ ]/g, "\\$&")}`).join("\n"),
          );
        for (const [index, name] of NAMES.entries()) {
          const state = user[index] ?? "clean";
          if (state === "untracked" || state === "ignored") write(repo, name, `user's own ${name}\n`);
          else userWorks(repo, name, state);
        }
        const theirs = new Set(NAMES.filter((_, index) => user[index] !== "clean"));
        const handle = new Git(repo);
        const baseline = await takeBaseline(handle, "r1", "phase-1");
        for (const [index, name] of NAMES.entries()) phaseWorks(repo, name, phase[index] ?? "leave");
        for (let n = 0; n < fresh; n++) write(repo, `fresh-${n}.txt`, `new ${n}\n`);
        const before = {
          index: entries(repo),
          stash: git(repo, "stash", "list"),
          files: NAMES.map((name) => look(repo, name)),
        };

        const outcome = await commitChanges(handle, request(baseline));

        expect(NAMES.map((name) => look(repo, name))).toEqual(before.files);
        expect(git(repo, "stash", "list")).toBe(before.stash);
        if (outcome.type === "nothing") return;
        expect(outcome.type).toBe("made");
        const committed = git(repo, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id", "HEAD")
          .split("\0")
          .filter(Boolean);
        expect(committed.filter((name) => theirs.has(name))).toEqual([]);
        for (const [index, name] of NAMES.entries()) {
          if (theirs.has(name)) continue;
          expect(committed.includes(name)).toBe(phase[index] !== "leave");
        }
        const after = entries(repo);
        for (const [name, entry] of before.index) if (!committed.includes(name)) expect(after.get(name)).toBe(entry);
        // Their next commit holds what they had staged, and nothing else.
        const staged = git(repo, "diff", "--cached", "--name-only", "-z", "--no-renames").split("\0").filter(Boolean);
        for (const name of staged) expect(theirs.has(name)).toBe(true);
        git(repo, "fsck", "--no-progress", "--connectivity-only");
      }),
      // Each of them makes repositories: a hundred of them say as much as others' thousands.
      process.env.MUTATIONS === undefined ? { numRuns: 8, seed: 7 } : { numRuns: Number(process.env.MUTATIONS) / 200 },
    );
  });
});

describe("a file that both changed", () => {
  const lines = (...edits: [number, string][]) => {
    const all = Array.from({ length: 20 }, (_, n) => `line ${n}`);
    for (const [at, text] of edits) all[at] = text;
    return `${all.join("\n")}\n`;
  };

  test("the phase's hunks are committed, the user's stay out and stay in the file; the same lines leave the file out", async () => {
    const repo = scratchRepo({ "apart.txt": lines(), "mixed.txt": lines(), "staged.txt": lines() });
    for (const name of ["apart.txt", "mixed.txt", "staged.txt"])
      writeFileSync(join(repo, name), lines([2, "the user's"]));
    git(repo, "add", "staged.txt");
    const handle = new Git(repo);
    const baseline = await takeBaseline(handle, "r1", "phase-1");
    writeFileSync(join(repo, "apart.txt"), lines([2, "the user's"], [15, "the phase's"]));
    writeFileSync(join(repo, "mixed.txt"), lines([2, "the phase's over the user's"]));
    writeFileSync(join(repo, "staged.txt"), lines([2, "the user's"], [15, "the phase's"]));
    expect(await commitChanges(handle, request(baseline))).toMatchObject({
      type: "made",
      files: 1,
      leftOut: ["mixed.txt", "staged.txt"],
    });
    expect(git(repo, "show", "HEAD:apart.txt")).toBe(lines([15, "the phase's"]).trimEnd());
    expect(readFileSync(join(repo, "apart.txt"), "utf8")).toBe(lines([2, "the user's"], [15, "the phase's"]));
    // What is left to commit there is the user's hunk, and nothing of the phase's is taken back.
    const diff = git(repo, "diff", "--unified=0", "--", "apart.txt")
      .split("\n")
      .filter((line) => /^[-+][^-+]/.test(line));
    expect(diff).toEqual(["-line 2", "+the user's"]);
  });
});

describe("submodules", () => {
  test("a registered one moves with the phase; a repository that just lies there is refused, and nothing is lost", async () => {
    const inner = scratchRepo({ "inner.txt": "1\n" });
    const repo = scratchRepo({ "a.txt": "a\n" });
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "lib");
    git(repo, "commit", "-qm", "a submodule");
    const handle = new Git(repo);
    const baseline = await takeBaseline(handle, "r1", "phase-1");
    git(
      join(repo, "lib"),
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@b.c",
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      "moved",
    );
    expect(await commitChanges(handle, request(baseline))).toMatchObject({ type: "made", files: 1 });
    expect(git(repo, "status", "--porcelain")).toBe("");
    const again = await takeBaseline(handle, "r1", "phase-2");
    mkdirSync(join(repo, "stray"));
    git(join(repo, "stray"), "init", "-q");
    git(join(repo, "stray"), "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "x");
    const outcome = await commitChanges(handle, { ...request(again), command: "2/a1/commit/1" });
    expect(outcome).toMatchObject({
      type: "failed",
      why: expect.stringContaining("stray is a git repository of its own"),
    });
  });
});

/** Every third of them, unless more is asked for. */
const EVERY = process.env.MUTATIONS === undefined ? 6 : 1;

describe("SIGKILL between any two git commands of a commit", () => {
  test("the repeat ends with one commit, a sound repository and a clean status", async () => {
    const script = fileURLToPath(new URL("../support/commit-once.mjs", import.meta.url));
    const shim = scratchFolder();
    const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
    writeFileSync(
      join(shim, "git"),
      `#!/bin/sh\nn=$(cat "$GIT_COUNT" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$GIT_COUNT"\nif [ "$n" = "$KILL_AT" ]; then kill -9 $PPID; exit 1; fi\nexec ${real} "$@"\n`,
    );
    chmodSync(join(shim, "git"), 0o755);
    let commands = 0;
    let killed = 0;
    for (let k = 1; commands === 0 || k <= commands; k += EVERY) {
      const repo = scratchRepo({ "a.txt": "a\n", "b.txt": "b\n" });
      const handle = new Git(repo);
      const baseline = await takeBaseline(handle, "r1", "phase-1");
      writeFileSync(join(repo, "a.txt"), "changed\n");
      writeFileSync(join(repo, "new.txt"), "new\n");
      const { usersPaths: _, plan: __, ...plain } = request(baseline);
      const count = join(scratchFolder(), "count");
      const env = { ...process.env, COMMIT_REPO: repo, COMMIT_REQUEST: JSON.stringify(plain), GIT_COUNT: count };
      const run = (killAt: number) =>
        spawnSync(process.execPath, [script], {
          env: { ...env, PATH: `${shim}:${process.env.PATH}`, KILL_AT: String(killAt) },
          encoding: "utf8",
        });
      if (commands === 0) {
        expect(run(0).status).toBe(0);
        commands = Number(readFileSync(count, "utf8"));
        expect(commands).toBeGreaterThan(8);
        k = 1 - EVERY;
        continue;
      }
      // Some run beside each other, so that the last number may not be reached.
      if (run(k).signal === "SIGKILL") killed++;
      rmSync(join(repo, ".git/index.lock"), { force: true });
      const again = JSON.parse(run(0).stdout || "{}");
      expect(again.type).toBe("made");
      expect(git(repo, "rev-list", "--count", "HEAD")).toBe("2");
      expect(git(repo, "status", "--porcelain")).toBe("");
      git(repo, "fsck", "--no-progress", "--strict");
    }
    expect(killed).toBeGreaterThan(Math.floor(commands / EVERY) - 2);
  });
});
