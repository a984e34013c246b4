/** The first hour: where one stands, what the shell completes, runs that end in time, gates a person judges. */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { whereOf } from "../../src/cli/commands/where.js";
import { readUntil } from "../../src/cli/until.js";
import { planFiles } from "../support/plans.js";
import { inPty } from "../support/pty.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";
import { eventsOf, latch, SEGNO, site } from "../support/segno.js";

describe.concurrent("segno alone", () => {
  const firstOf = async (folder: string) => {
    const { stands, next } = await whereOf(folder);
    return [stands.join("\n"), next[0]?.[0]];
  };

  test("no repository, no commit, no plan, blanks, no configuration, ready: each with the command that comes next", async () => {
    const folder = scratchFolder();
    expect(await firstOf(folder)).toEqual([
      expect.stringContaining("not in a git repository"),
      "git init && git add . && git commit --allow-empty -m start",
    ]);
    git(folder, "init", "--quiet");
    expect(await firstOf(folder)).toEqual([
      expect.stringContaining("has no commit yet"),
      "git add . && git commit --allow-empty -m start",
    ]);
    const repo = scratchRepo({ "a.txt": "" });
    expect(await firstOf(repo)).toEqual(["There is no plan here yet.", "segno init"]);
    writeFileSync(join(repo, "PLAN.md"), "# P\n\n## A\n\n- [ ] …\n");
    expect(await firstOf(repo)).toEqual(["PLAN.md cannot be run yet: one error.", "segno audit PLAN.md"]);
    writeFileSync(join(repo, "PLAN.md"), "# P\n\n## A\n\n- [ ] a\n");
    expect(await firstOf(repo)).toEqual([expect.stringContaining("Nothing is configured yet"), "segno init"]);
    const place = await site({ repo });
    await place.segno(["init", "--permission-mode", "edits"]).ended;
    expect(await firstOf(repo)).toEqual(["PLAN.md: 1 of 1 phases to do.", "segno rehearse PLAN.md"]);
    const several = scratchRepo({
      "docs/plans/a.md": "# A\n\n## A\n\n- [ ] a\n",
      "docs/plans/b.md": "# B\n\n## B\n\n- [ ] b\n",
    });
    expect(await firstOf(several)).toEqual([
      expect.stringContaining("There are 2 plans here"),
      "segno audit docs/plans/a.md",
    ]);
  });

  test("a run under way, stopped, failed, finished", async () => {
    const gate = latch();
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const place = await site({ repo, behave: gate.behave });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await gate.held();
    expect(await firstOf(repo)).toEqual([expect.stringContaining("A run is under way"), "segno watch"]);
    running.kill("SIGTERM");
    gate.release();
    expect((await running.ended).code).toBe(3);
    const [stopped, resume] = await firstOf(repo);
    expect([stopped, resume]).toEqual([
      expect.stringContaining("A run was stopped"),
      expect.stringMatching(/^segno resume [0-9a-f]{4}$/),
    ]);
    expect((await place.segno((resume as string).split(" ").slice(1)).ended).code).toBe(0);
    expect(await firstOf(repo)).toEqual([
      expect.stringMatching(/The last run is finished[\s\S]*All 1 phases of PLAN.md are marked as done/),
      "segno report",
    ]);
    const broken = scratchRepo(planFiles([{ id: "1", gates: ["false"] }]));
    const other = await site({ repo: broken });
    await other.segno(["run", "PLAN.md", "--unattended"], { env: { SEGNO_MAX_REMEDIATIONS: "0" } }).ended;
    expect(await firstOf(broken)).toEqual([expect.stringContaining("The last run failed"), "segno status"]);
  });

  test("at a terminal it says so; elsewhere it helps", async () => {
    const repo = scratchRepo({ "a.txt": "" });
    const place = await site({ repo });
    const screen = inPty([process.execPath, SEGNO], { cwd: repo, env: place.env, columns: 100, rows: 30 });
    await screen.until((frame) => frame.some((line) => line.includes("segno init ")), "the next command");
    expect(screen.frame().join("\n")).toContain("There is no plan here yet.");
    expect((await place.segno([]).ended).stderr).toContain("Usage: segno");
  });
});

describe.concurrent("completion", () => {
  test("commands, flags and their values, runs, phases, gates, keys: from the journal, and nothing is started", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const place = await site({ repo });
    const run = eventsOf(await place.segno(["run", "PLAN.md", "--json", "--only", "1"]).ended)[0];
    const short = run?.type === "run-started" ? run.run.split("-").at(-1) : "";
    const complete = async (...words: string[]) =>
      (await place.segno(["complete", "--", ...words]).ended).stdout.trim().split("\n");
    expect(await complete("re")).toEqual(["resume", "rehearse", "report"]);
    expect(await complete("run", "--pa")).toEqual(["--parallel"]);
    expect(await complete("run", "--permission-mode", "")).toEqual(["all", "edits", "listed", "auto"]);
    expect(await complete("resume", "")).toEqual([short]);
    expect(await complete("diff", "--phase", "")).toEqual(["1", "2"]);
    expect(await complete("skip", "")).toEqual(["2"]);
    expect(await complete("gate", "")).toEqual(["gate 1"]);
    expect(await complete("config", "get", "context_t")).toEqual(["context_threshold"]);
    expect(await complete("nonsense", "")).toEqual([""]);
    for (const shell of ["bash", "zsh", "fish"])
      expect((await place.segno(["completion", shell]).ended).stdout).toContain("segno complete --");
    expect((await place.segno(["completion", "csh"]).ended).code).toBe(2);
    expect(await place.segno(["runs", "--json"]).ended.then(({ stdout }) => JSON.parse(stdout))).toHaveLength(1);
  });
});

test("what a plan calls its gates is data to bash, and nothing of it is run", async () => {
  const repo = scratchRepo({ "a.txt": "" });
  const place = await site({ repo });
  const script = (await place.segno(["completion", "bash"]).ended).stdout;
  const fake = `segno() { printf '%s\\n' '$(touch ran)x' 'two words'; }`;
  const typed = `${script}\n${fake}\nCOMP_WORDS=(segno gate ""); COMP_CWORD=2; _segno; printf '%s|' "\${COMPREPLY[@]}"`;
  const said = execFileSync("bash", ["-c", typed], { cwd: repo, encoding: "utf8" });
  expect(said).toBe("\\$\\(touch\\ ran\\)x|two\\ words|");
  expect(existsSync(join(repo, "ran"))).toBe(false);
});

describe.concurrent("--until", () => {
  const now = new Date(2026, 10, 17, 22, 15);

  test.each([
    ["6h", new Date(2026, 10, 18, 4, 15)],
    ["90m", new Date(2026, 10, 17, 23, 45)],
    ["1h30m", new Date(2026, 10, 17, 23, 45)],
    ["07:30", new Date(2026, 10, 18, 7, 30)],
    ["23:00", new Date(2026, 10, 17, 23, 0)],
  ])("%s", (text, expected) => {
    expect(readUntil(text, now)).toEqual(expected);
  });

  test.each(["", "soon", "25:00", "6", "2020-01-01T00:00"])("%s is no time to come", (text) => {
    expect(readUntil(text, now)).toBeUndefined();
  });

  test("the run stops with a checkpoint before then, and can be resumed", async () => {
    const gate = latch();
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const place = await site({ repo, behave: gate.behave });
    const soon = new Date(Date.now() + 4_000).toISOString();
    const running = place.segno(["run", "PLAN.md", "--json", "--until", soon]);
    await running.event((event) => event.type === "stop-requested" && event.by === "--until");
    gate.release();
    expect((await running.ended).code).toBe(3);
    const wrong = await place.segno(["run", "PLAN.md", "--until", "soon"]).ended;
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("a time of day (07:30)")]);
    expect((await place.segno(["resume"]).ended).code).toBe(0);
    expect(existsSync(join(repo, "out/1-2.txt"))).toBe(true);
  });
});

describe.concurrent("a gate that a person judges", () => {
  test("is written as (manual) in the plan", async () => {
    const files = planFiles([{ id: "1" }]);
    files["plan/phase-1.md"] = (files["plan/phase-1.md"] as string).replace(
      /- gate 1: .*/,
      "- design: looks right (manual)",
    );
    const place = await site({ repo: scratchRepo(files) });
    const audit = JSON.parse((await place.segno(["audit", "--json"]).ended).stdout);
    expect(audit.phases[0].gates).toMatchObject([{ name: "design", manual: true }]);
    const running = place.segno(["run", "PLAN.md", "--json"]);
    const asked = await running.event((event) => event.type === "question-asked");
    expect(asked).toMatchObject({ text: expect.stringContaining("design") });
    expect((await place.segno(["answer", "pass"]).ended).code).toBe(0);
    expect((await running.ended).code).toBe(0);
  });
});

describe.concurrent("a rehearsal", () => {
  test("of one phase, at another permission level", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const place = await site({ repo });
    const only = await place.segno(["rehearse", "PLAN.md", "--only", "1", "--permission-mode", "edits", "--json"])
      .ended;
    expect(only.code, only.stderr).toBe(0);
    const events = eventsOf(only);
    expect(events.filter(({ type }) => type === "phase-done")).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: "run-started", config: { permission_mode: "edits" } });
    expect((await place.segno(["rehearse", "PLAN.md", "--only", "9"]).ended).stderr).toContain("Its phases: 1, 2.");
  });
});

describe.concurrent("every refusal on the way names the next command, and that works", () => {
  const shell = (command: string, cwd: string, env: Record<string, string>) =>
    execFileSync("/bin/sh", ["-c", command], { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const PLAN = "# P\n\n## A\n\n- [ ] Create `out/a.txt`\n";

  test("from no repository to a finished run", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "NOTES.md"), PLAN.replace("[ ] ", ""));
    const place = await site({ repo: folder });
    // Nobody is known here, and nothing is chosen.
    const env: Record<string, string> = {
      ...place.env,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
      SEGNO_PERMISSION_MODE: "",
    };
    const refused = async (...args: string[]) => {
      const ended = await place.segno(args, { env }).ended;
      expect(ended.code, ended.stdout).toBe(2);
      return ended.stderr + ended.stdout;
    };
    const known = {
      ...env,
      GIT_AUTHOR_NAME: "N",
      GIT_AUTHOR_EMAIL: "n@n.invalid",
      GIT_COMMITTER_NAME: "N",
      GIT_COMMITTER_EMAIL: "n@n.invalid",
    };
    const [made] = /git init && .*$/m.exec(await refused("run")) ?? [];
    shell(made ?? "", folder, known);
    const [identity] = /git config user\.name .*(?=, then)/.exec(await refused("run")) ?? [];
    shell(identity ?? "", folder, env);
    expect(await refused("run")).toContain("segno init --from FILE");
    expect(await refused("run", "NOTES.md")).toContain("segno init --from NOTES.md");
    expect((await place.segno(["init", "--plan", "first"], { env }).ended).code).toBe(0);
    expect(await refused("run", "first.md")).toContain("blanks (…)");
    const init = await place.segno(["init", "--from", "NOTES.md", "--plan", "todo"], { env }).ended;
    expect(init.stdout).toContain("segno rehearse todo.md");
    expect(await refused("run")).toMatch(/There are 2 plans here:[\s\S]*first\.md[\s\S]*todo\.md/);
    shell("git add -A && git commit --quiet -m plan && echo more >> NOTES.md", folder, env);
    expect(await refused("run", "todo.md")).toContain("--allow-dirty");
    expect(await refused("run", "todo.md", "--allow-dirty")).toContain("--permission-mode");
    const ran = await place.segno(["run", "todo.md", "--allow-dirty", "--permission-mode", "edits"], { env }).ended;
    expect(ran.code, ran.stderr).toBe(0);
    expect(existsSync(join(folder, "out/a.txt"))).toBe(true);
  });
});
