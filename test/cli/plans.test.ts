import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";
import { eventsOf, SEGNO, site } from "../support/segno.js";

const run = async (repo: string, ...args: string[]) => (await site({ repo })).segno(args).ended;

describe.concurrent("segno audit", () => {
  test("says what was understood, in waves, and as JSON", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", gates: ["npm test"] },
        { id: "2", dependsOn: ["1"], gates: ["npm test"] },
        { id: "3", dependsOn: ["1"], gates: ["npm test"] },
      ]),
    );
    const shown = await run(repo, "audit", "PLAN.md");
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/format master, 3 phases, 3 tasks[\s\S]*wave 2\n {2}2 {2}Phase 2[\s\S]*It can be run/);
    const json = JSON.parse((await run(repo, "audit", "PLAN.md", "--json")).stdout);
    expect(Object.keys(json)).toEqual([
      "file",
      "format",
      "phases",
      "waves",
      "boxes",
      "checks",
      "agents",
      "diagnostics",
    ]);
    expect(json.waves).toEqual([["1"], ["2", "3"]]);
    expect(json.phases[1]).toMatchObject({
      id: "2",
      title: "Phase 2",
      depends_on: ["1"],
      tasks: [{ id: "2.1" }],
      gates: [{ name: "gate 1", command: "npm test" }],
    });
    expect(existsSync(join(repo, ".segno"))).toBe(false);
  });

  test("exits with 2 on errors, and with --strict on warnings; the diagnostics have places and fixes", async () => {
    const doubtful = scratchRepo(planFiles([{ id: "1", gates: ["echo fine"] }]));
    expect((await run(doubtful, "audit", "PLAN.md")).code).toBe(0);
    expect((await run(doubtful, "audit", "PLAN.md", "--strict")).code).toBe(2);
    const circular = await run(
      scratchRepo(
        planFiles([
          { id: "1", dependsOn: ["2"] },
          { id: "2", dependsOn: ["1"] },
        ]),
      ),
      "audit",
      "PLAN.md",
      "--json",
    );
    expect(circular.code).toBe(2);
    const { diagnostics, phases } = JSON.parse(circular.stdout);
    expect(diagnostics).toContainEqual({
      severity: "error",
      file: "plan/phase-1.md",
      line: 1,
      message: expect.stringContaining("1 → 2 → 1"),
      fix: expect.any(String),
    });
    expect(phases).toHaveLength(2);
  });

  const bad: [string, (repo: string) => void, RegExp][] = [
    ["a binary file", (repo) => writeFileSync(join(repo, "P.md"), Buffer.from([1, 0, 2, 255])), /binary file/],
    ["a file of 50 MB", (repo) => writeFileSync(join(repo, "P.md"), Buffer.alloc(50_000_000, 35)), /50 MB/],
    [
      "invalid UTF-8",
      (repo) => writeFileSync(join(repo, "P.md"), Buffer.from([35, 32, 0xc3, 0x28])),
      /not valid UTF-8/,
    ],
    [
      "a link out of the repository",
      (repo) => symlinkSync("/etc/hostname", join(repo, "P.md")),
      /leads out of the repository/,
    ],
    [
      "no plan",
      (repo) => writeFileSync(join(repo, "P.md"), "# Report\n\nText.\n"),
      /no plan that Segno knows[\s\S]*smallest plan/,
    ],
  ];
  test.each(bad)("%s is refused with a clear message", async (_, prepare, says) => {
    const repo = scratchRepo({});
    prepare(repo);
    const ended = await run(repo, "audit", "P.md");
    expect(ended.stdout).toMatch(says);
    expect(ended.code).toBe(2);
  });
});

describe.concurrent("a folder", () => {
  const checklist = (title: string) => `# ${title}\n\n## Part\n\n- [ ] Create \`out/${title}.txt\`\n`;

  test("means the plan in it; several are listed, none is said; several plans are audited at once", async () => {
    const repo = scratchRepo({
      ".kiro/specs/login/tasks.md": "# Implementation Plan\n\n- [ ] 1. Do it\n",
      "docs/plans/a.md": checklist("a"),
      "docs/plans/b.md": checklist("b"),
      "docs/plans/README.md": checklist("readme"),
      "one/x.md": checklist("x"),
      "none/y.txt": "",
    });
    const kiro = await run(repo, "audit", ".kiro/specs/login");
    expect([kiro.code, kiro.stdout]).toEqual([
      0,
      expect.stringContaining("login/tasks.md: format kiro, 1 phases, 1 tasks"),
    ]);
    const many = await run(repo, "audit", "docs/plans");
    expect([many.code, many.stderr]).toEqual([
      2,
      expect.stringMatching(/2 plans in docs\/plans:\n {2}docs\/plans\/a\.md\n {2}docs\/plans\/b\.md/),
    ]);
    expect((await run(repo, "audit", "none")).stderr).toContain("There is no plan in none.");
    const both = await run(repo, "audit", "one", "docs/plans/a.md", "--json");
    const lines = both.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ file, format }) => [file, format])).toEqual([
      ["one/x.md", "checklist"],
      ["docs/plans/a.md", "checklist"],
    ]);
    const ran = await (await site({ repo })).segno(["run", "one"]).ended;
    expect([ran.code, existsSync(join(repo, "out/x.txt"))]).toEqual([0, true]);
  });

  test("nothing named: the only plan there is; --tag names the list of a file that has several", async () => {
    const tasks = (id: number) => ({
      tasks: [{ id, title: `Create \`out/${id}.txt\``, status: "pending", dependencies: [] }],
    });
    const repo = scratchRepo({
      ".taskmaster/tasks/tasks.json": JSON.stringify({ master: tasks(1), next: tasks(2) }, null, 2),
    });
    const place = await site({ repo });
    const audited = await place.segno(["audit", "--tag", "next"]).ended;
    expect([audited.code, audited.stdout]).toEqual([0, expect.stringContaining("Task Master: next")]);
    const wrong = await place.segno(["audit", "--tag", "other"]).ended;
    expect([wrong.code, wrong.stdout]).toEqual([2, expect.stringContaining("Its tags: master, next.")]);
    const ran = await place.segno(["run", "--tag", "next"]).ended;
    expect([ran.code, existsSync(join(repo, "out/2.txt")), existsSync(join(repo, "out/1.txt"))]).toEqual([
      0,
      true,
      false,
    ]);
    expect(JSON.parse(readFileSync(join(repo, ".taskmaster/tasks/tasks.json"), "utf8"))).toMatchObject({
      master: { tasks: [{ status: "pending" }] },
      next: { tasks: [{ status: "done" }] },
    });
  });
});

describe.concurrent("gates that cannot fail", () => {
  const files = () => planFiles([{ id: "1", gates: ["true", "test -f out/1-1.txt", "no-such-command-here"] }]);

  test("are named by audit --try-gates, which touches nothing of the user's", async () => {
    const repo = scratchRepo(files());
    const tried = await run(repo, "audit", "PLAN.md", "--try-gates");
    expect(tried.code).toBe(0);
    expect(tried.stdout).toMatch(
      /gate 1: passes already\n.*gate 2: fails now, as it should \(exit 1\)\n.*gate 3: cannot be judged here \(exit 127\)/,
    );
    expect(tried.stdout).toContain('The gate "gate 1" passes without the work of phase 1');
    expect(git(repo, "status", "--porcelain")).toBe("");
    const json = JSON.parse((await run(repo, "audit", "PLAN.md", "--try-gates", "--json")).stdout);
    expect(json.gates_tried.map(({ passed }: { passed: boolean }) => passed)).toEqual([true, false, false]);
  });

  test("are named by a rehearsal, phase by phase", async () => {
    const plan = planFiles([
      { id: "1", gates: ["test -e out/1-1.txt"] },
      { id: "2", dependsOn: ["1"], gates: ["test -f out/1-1.txt"] },
    ]);
    const repo = scratchRepo({
      ...plan,
      "plan/phase-2.md": (plan["plan/phase-2.md"] as string).replace("gate 1", "gate 2"),
    });
    const rehearsed = await (await site({ repo })).segno(["rehearse", "PLAN.md", "--plain"]).ended;
    expect(rehearsed.code, rehearsed.stderr).toBe(0);
    expect(rehearsed.stdout).toContain("gate 1 (phase 1): passed, and failed before the first phase\n");
    expect(rehearsed.stdout).toMatch(
      /gate 2 \(phase 2\): passed.*also without the work of phase 2: there it proves nothing/,
    );
  });
});

describe.concurrent("a plan without gates", () => {
  test("a run that found its own goes on after an interruption as the same run", async () => {
    const repo = scratchRepo({
      "PLAN.md": "# P\n\n## A\n\n- [ ] Create `out/a.txt`\n\n## B\n\n- [ ] Create `out/b.txt`\n",
      "package.json": JSON.stringify({ scripts: { test: "test ! -f broken.txt" } }),
    });
    const place = await site({ repo });
    const shown = await place.segno(["audit"]).ended;
    expect(shown.stdout).toContain(
      "A run judges its phases with these, if they pass before the first:\n  npm test  (package.json:1)",
    );
    const first = place.segno(["run", "PLAN.md", "--json"]);
    await first.event((event) => event.type === "phase-done");
    first.kill("SIGTERM");
    expect((await first.ended).code).toBe(3);
    const again = await place.segno(["run", "PLAN.md", "--json"]).ended;
    expect(again.code, again.stderr).toBe(0);
    const types = eventsOf(again).map((event) => event.type);
    expect([types.includes("run-resumed"), types.includes("plan-changed")]).toEqual([true, false]);
    expect(eventsOf(again).filter((event) => event.type === "gate-finished")).toMatchObject([
      { phase: "2", name: "tests", passed: true },
    ]);
    expect(place.done).toEqual(["1/1.1", "2/2.1"]);
  });
});

describe.concurrent("segno init and run", () => {
  test("init --from makes a plan of headings and bullets, or of a checklist that is piped in; the file stays", async () => {
    const notes = "# Faster\n\n## Index\n\n- Create `out/a.txt`\n\n## Ask\n\n- Create `out/b.txt`\n";
    const repo = scratchRepo({
      "NOTES.md": notes,
      "package.json": JSON.stringify({ scripts: { test: "exit 0; true" } }),
    });
    const place = await site({ repo });
    expect((await place.segno(["audit", "NOTES.md"]).ended).stdout).toContain("segno init --from NOTES.md");
    const made = await place.segno(["init", "--from", "NOTES.md"]).ended;
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining("gate     npm test (package.json:1)")]);
    expect(readFileSync(join(repo, "NOTES.md"), "utf8")).toBe(notes);
    const twice = await place.segno(["init", "--from", "NOTES.md", "--permission-mode", "all"]).ended;
    expect([twice.code, twice.stderr]).toEqual([
      2,
      expect.stringContaining("segno init --from NOTES.md --plan PLAN-2"),
    ]);
    const second = await place.segno(["init", "--from", "NOTES.md", "--plan", "PLAN-2", "--permission-mode", "all"])
      .ended;
    expect(second.stdout).toContain("segno config set permission_mode");
    rmSync(join(repo, "PLAN-2.md"));
    const json = JSON.parse((await place.segno(["audit", "--json"]).ended).stdout);
    expect(json.phases).toMatchObject([
      { title: "Index", tasks: [{ title: "Create `out/a.txt`" }], gates: [{ command: "CI=true npm test" }] },
      { title: "Ask", depends_on: ["1"] },
    ]);
    const other = scratchRepo({});
    const piped = execFileSync(process.execPath, [SEGNO, "init", "--from", "-"], {
      cwd: other,
      input: "To do:\r\n\r\n- [x] one\r\n- [ ] two\r\n",
      env: { ...process.env, HOME: place.home },
    });
    expect(String(piped)).toContain("written  PLAN.md");
    expect(readFileSync(join(other, "plan/phase-1.md"), "utf8")).toContain("- [x] 1.1: one\n- [ ] 1.2: two\n");
    const nothing = await run(scratchRepo({ "x.md": "# Only\n\nwords\n" }), "init", "--from", "x.md");
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("has no headings with bullets")]);
  });

  test("init names the plan that is there, and refuses a permission level that does not exist", async () => {
    const repo = scratchRepo({ "specs/001-a/tasks.md": "# Tasks: A\n\n## Phase 1: Setup\n\n- [ ] T001 Begin\n" });
    const made = await run(repo, "init", "--permission-mode", "edits");
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining("plan     specs/001-a/tasks.md is there")]);
    expect(existsSync(join(repo, "PLAN.md"))).toBe(false);
    expect(readFileSync(join(repo, ".segno/config.yaml"), "utf8")).toMatch(/^permission_mode: edits$/m);
    const wrong = await run(scratchRepo({}), "init", "--permission-mode", "everything");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("edits in the repository")]);
  });

  test("init writes a configuration that loads and a plan that passes the audit once its blanks are filled; twice changes nothing", async () => {
    const repo = scratchRepo({});
    const written = await run(repo, "init", "--plan", "feature", "--phases", "2");
    expect(written.code).toBe(0);
    expect((await run(repo, "config")).code).toBe(0);
    expect((await run(repo, "audit", "feature.md")).code).toBe(2);
    for (const n of [1, 2]) {
      const file = join(repo, `feature/phase-${n}.md`);
      writeFileSync(
        file,
        readFileSync(file, "utf8").replace("(command: …)", "(command: `npm test`)").replaceAll("…", "something"),
      );
    }
    const master = join(repo, "feature.md");
    expect((await run(repo, "audit", "feature.md")).stdout).toContain("where its title and overview belong");
    writeFileSync(master, readFileSync(master, "utf8").replaceAll("…", "something"));
    expect((await run(repo, "audit", "feature.md", "--strict")).code).toBe(0);
    const config = readFileSync(join(repo, ".segno/config.yaml"), "utf8");
    const uncommented = config.replaceAll(/^# (\w+: )/gm, "$1");
    writeFileSync(join(repo, ".segno/config.yaml"), uncommented);
    expect((await run(repo, "config")).code).toBe(0);
    expect((await run(repo, "init", "--plan", "feature", "--phases", "2")).stdout).not.toContain("written");
    expect(readFileSync(join(repo, ".segno/config.yaml"), "utf8")).toBe(uncommented);
  });

  test("--dry-run starts nothing; --only and --phases run what was asked; phases marked done are skipped unless --force", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", status: "Completed" },
        { id: "2", dependsOn: ["1"] },
        { id: "3", dependsOn: ["2"] },
      ]),
    );
    const place = await site({ repo });
    const dry = await place.segno(["run", "PLAN.md", "--dry-run", "--phases", "1-2"]).ended;
    expect([dry.code, existsSync(join(repo, ".segno"))]).toEqual([0, false]);
    expect(dry.stdout).toMatch(
      /1 {2}Phase 1: skipped, marked done[\s\S]*2 {2}Phase 2: 1 tasks, 1 gates, prompt about \d+ tokens[\s\S]*3 {2}Phase 3: skipped, not selected/,
    );
    const unknown = await place.segno(["run", "PLAN.md", "--only", "9"]).ended;
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("Its phases: 1, 2, 3")]);
    expect((await place.segno(["run", "PLAN.md", "--only", "3"]).ended).code).toBe(0);
    expect(place.done).toEqual(["3/3.1"]);
    expect((await place.segno(["run", "PLAN.md", "--force", "--phases", "1,2"]).ended).code).toBe(0);
    expect(place.done).toEqual(["3/3.1", "1/1.1", "2/2.1"]);
  });

  test("commands of other tools in a plan are explained to the agent as ours", async () => {
    const files = planFiles([{ id: "1" }]);
    files["plan/phase-1.md"] +=
      "\n## Process Wrapper\n- Signal: `debussy done --phase 1`, log with /debussy-progress\n";
    const place = await site({ repo: scratchRepo(files) });
    expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(0);
    const prompt = JSON.stringify(place.exchanges[0]?.request.messages);
    expect(prompt).toContain("`debussy done`: call `mcp__segno__phase_result`");
    expect(prompt).toContain("`/debussy-progress`: call `mcp__segno__progress`");
  });

  test("a user with no plan is led to init", async () => {
    const ended = await run(scratchFolder(), "audit", "PLAN.md");
    expect([ended.code, ended.stdout]).toEqual([2, expect.stringContaining("`segno init` writes a plan")]);
  });
});

describe.concurrent("another tool's configuration", () => {
  const debussy =
    "# theirs\ncontext_threshold: 75.0\ntool_call_threshold: 100\nmax_restarts: 2\nauto_commit: true\nstrict_compliance: true\ntimeout: 1800\n";

  test("is noticed by doctor and init, and taken over key by key with its line", async () => {
    const repo = scratchRepo({ ".debussy/config.yaml": debussy });
    const place = await site({ repo });
    expect((await place.segno(["doctor"]).ended).stdout).toContain("segno init --from-debussy");
    const taken = await place.segno(["init", "--from-debussy"]).ended;
    expect(taken.code, taken.stderr).toBe(0);
    expect(taken.stdout).toContain(".debussy/config.yaml:2  context_threshold: 75  →  context_threshold: 75");
    expect(taken.stdout).toContain("strict_compliance: true  →  means nothing here, left out");
    expect(taken.stdout).toContain("timeout: 1800  →  phase_timeout_minutes: 30");
    const shown = JSON.parse((await place.segno(["config", "--json"]).ended).stdout) as Record<string, unknown>;
    expect(JSON.stringify(shown)).toContain('"max_restarts"');
    expect((await place.segno(["config", "get", "context_threshold"]).ended).stdout.trim()).toMatch(/75/);
    const again = await place.segno(["init", "--from-debussy"]).ended;
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("segno config set context_threshold 75")]);
  });
});
