import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { git, scratchFolder, scratchRepo, writeFiles } from "../support/scratch.js";

const SEGNO = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** The built command, as a user calls it. */
const segno = (cwd: string, ...args: string[]) => segnoWith({}, [], cwd, ...args);

function segnoWith(
  env: Record<string, string>,
  node: string[],
  cwd: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...node, SEGNO, ...args],
      { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
      },
    );
  });
}

describe.concurrent("segno rehearse and status", () => {
  test("the example runs to its end: three phases, handovers, gates, commits, a report and where to look", async () => {
    const { code, stdout } = await segno(scratchFolder(), "rehearse", "--example");
    expect(code).toBe(0);
    expect(stdout).toContain("handing over at");
    expect(stdout).toMatch(/2 Languages +done +8\/8 +\d +[1-9]/);
    expect(stdout).toContain("12 tasks done by the stand-in model, 0 of them more than once");
    const repository = /^repository {2}(.+)$/m.exec(stdout)?.[1] ?? "";
    expect(existsSync(/^journal {5}(.+)$/m.exec(stdout)?.[1] ?? "")).toBe(true);
    expect(git(repository, "status", "--porcelain")).toBe("");
    const status = await segno(repository, "status", "--json");
    const figures = JSON.parse(status.stdout);
    expect(Object.keys(figures).sort()).toEqual(["interrupted", "phases", "plan", "run", "status"]);
    expect(figures).toMatchObject({ plan: "PLAN.md", status: "completed" });
    expect(figures.phases[1]).toMatchObject({
      id: "2",
      title: "Languages",
      status: "done",
      sessions: expect.any(Number),
      restarts: expect.any(Number),
      peak_percent: expect.any(Number),
      tokens: { total: expect.any(Number) },
      commits: expect.any(Array),
    });
    expect((await segno(repository, "status")).stdout).toContain("3 The command line");
    rmSync(join(repository, ".."), { recursive: true, force: true });
  });

  test("a user's plan is rehearsed in a clone: their repository is not touched, failing gates are reported and do not block", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["false"] }]));
    writeFileSync(
      join(repo, "plan/phase-1.md"),
      `${readFileSync(join(repo, "plan/phase-1.md"), "utf8")}\nAn edit that is not committed yet.\n`,
    );
    const before = git(repo, "status", "--porcelain", "--ignored");
    const TMPDIR = scratchFolder();
    const { code, stdout } = await segnoWith({ TMPDIR }, [], repo, "rehearse", "PLAN.md", "--json");
    expect(code).toBe(0);
    expect(stdout).not.toContain(TMPDIR);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.every((event) => typeof event.at === "string" && typeof event.type === "string")).toBe(true);
    expect(events.find((event) => event.type === "gate-finished")).toMatchObject({ phase: "1", passed: false });
    expect(events.at(-1).type).toBe("run-completed");
    expect(events[0].plan.phases[0].text).toContain("An edit that is not committed yet.");
    expect(git(repo, "status", "--porcelain", "--ignored")).toBe(before);
    expect(git(repo, "log", "--oneline").split("\n")).toHaveLength(1);
  });

  test("with --enforce-gates a failing gate fails the rehearsal: exit 1, clear words", async () => {
    const repo = scratchRepo({
      ...planFiles([{ id: "1", gates: ["echo it is broken; exit 7"] }]),
      ".segno/config.yaml": "max_remediations: 0\n",
    });
    const { code, stdout } = await segno(repo, "rehearse", "PLAN.md", "--enforce-gates");
    expect(code).toBe(1);
    expect(stdout).toContain("gate gate 1: failed, exit 7");
    expect(stdout).toContain("Phase 1 failed (gate_failed): Phase 1 is not done");
    rmSync(join(/^repository {2}(.+)$/m.exec(stdout)?.[1] ?? "", ".."), { recursive: true, force: true });
  });
});

describe.concurrent("bad input: exit 2, what happened, why it matters, what to do, nothing changed", () => {
  const plan = planFiles([{ id: "1" }]);
  const cases: [string, () => string, string[], RegExp][] = [
    ["a missing plan", () => scratchRepo({}), ["run", "PLAN.md"], /PLAN\.md:1: There is no such file/],
    ["an empty plan", () => scratchRepo({ "PLAN.md": "" }), ["run", "PLAN.md"], /The plan is empty/],
    ["a plan outside the repository", () => scratchRepo({}), ["run", "../PLAN.md"], /is not inside the repository/],
    ["not a repository", () => scratchFolder(), ["run", "PLAN.md"], /is not in a git repository/],
    ["no permission mode", () => scratchRepo(plan), ["run", "PLAN.md"], /No permission_mode is chosen/],
    [
      "a dirty tree",
      () => {
        const repo = scratchRepo(plan);
        writeFileSync(join(repo, "README.md"), "x");
        return repo;
      },
      ["run", "PLAN.md", "--permission-mode", "dontAsk"],
      /1 changed file: README\.md[\s\S]*--allow-dirty/,
    ],
    [
      "an unknown key",
      () => scratchRepo({ ...plan, ".segno/config.yaml": "model: x\ncontext_treshold: 80\n" }),
      ["run", "PLAN.md"],
      /config\.yaml:2:1: There is no key `context_treshold`[\s\S]*Did you mean `context_threshold`/,
    ],
    [
      "a value out of range",
      () => scratchRepo({ ...plan, ".segno/config.yaml": "context_threshold: 0\n" }),
      ["run", "PLAN.md"],
      /config\.yaml:1:1: `context_threshold`.*>=1/,
    ],
    [
      "a flag out of range",
      () => scratchRepo(plan),
      ["run", "PLAN.md", "--context-threshold", "101"],
      /on the command line: `context_threshold`.*<=100/,
    ],
    ["bad YAML", () => scratchRepo({ ...plan, ".segno/config.yaml": "a: [1\n" }), ["run", "PLAN.md"], /not valid YAML/],
    ["an unknown flag", () => scratchRepo(plan), ["run", "PLAN.md", "--fast"], /unknown option '--fast'/],
    ["no run yet", () => scratchRepo(plan), ["status"], /There is no run in this repository/],
    ["no plan named", () => scratchRepo({ "a.txt": "" }), ["rehearse"], /No plan was named, and none was found here/],
    [
      "a detached HEAD",
      () => {
        const repo = scratchRepo(plan);
        git(repo, "checkout", "--quiet", "--detach");
        return repo;
      },
      ["run", "PLAN.md"],
      /No branch is checked out/,
    ],
    [
      "no commit yet",
      () => {
        const folder = scratchFolder();
        git(folder, "init", "--quiet");
        writeFiles(folder, plan);
        return folder;
      },
      ["run", "PLAN.md"],
      /has no commit yet/,
    ],
    [
      "a bare repository",
      () => {
        const folder = scratchFolder();
        git(folder, "init", "--quiet", "--bare");
        return folder;
      },
      ["run", "PLAN.md"],
      /bare repository/,
    ],
    [
      "an unfinished merge",
      () => {
        const repo = scratchRepo(plan);
        writeFileSync(join(repo, ".git/MERGE_HEAD"), `${git(repo, "rev-parse", "HEAD")}\n`);
        return repo;
      },
      ["run", "PLAN.md"],
      /A merge is in progress/,
    ],
  ];
  test.each(cases)("%s", async (_, prepare, args, says) => {
    const folder = prepare();
    const { code, stderr } = await segno(folder, ...args);
    expect(stderr).toMatch(says);
    expect(code).toBe(2);
    expect(existsSync(join(folder, ".git/segno/runs"))).toBe(false);
  });

  test("no agent, no login, Windows: said before anything is begun", async () => {
    const repo = scratchRepo(plan);
    const flags = ["run", "PLAN.md", "--permission-mode", "dontAsk"];
    const missing = await segnoWith({ SEGNO_CLAUDE: "/no/such/claude" }, [], repo, ...flags);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/Claude Code cannot be started[\s\S]*npm install -g @anthropic-ai\/claude-code/),
    ]);
    const login = await segnoWith(
      {
        HOME: scratchFolder(),
        GIT_CONFIG_GLOBAL: `${process.env.HOME}/.gitconfig`,
        DISABLE_AUTOUPDATER: "1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
      [],
      repo,
      ...flags,
    );
    expect([login.code, login.stderr]).toEqual([2, expect.stringMatching(/not logged in[\s\S]*segno rehearse/)]);
    const windows = "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})";
    const refused = await segnoWith({}, ["--import", windows], repo, ...flags);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/natively on Windows[\s\S]*WSL/)]);
    expect(existsSync(join(repo, ".segno"))).toBe(false);
  });

  test("with --json the failure is one JSON object", async () => {
    const { code, stdout } = await segno(scratchRepo(plan), "run", "PLAN.md", "--json");
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      type: "error",
      failure: { type: "no-permission-mode" },
      next: expect.any(String),
    });
  });

  test("help teaches with examples, everywhere", async () => {
    const folder = scratchFolder();
    for (const args of [["--help"], ["run", "--help"], ["rehearse", "--help"], ["status", "--help"]]) {
      const { code, stdout } = await segno(folder, ...args);
      expect(code).toBe(0);
      expect(stdout).toContain("Examples:");
    }
    expect((await segno(folder, "--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
