import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

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
    expect(Object.keys(json)).toEqual(["format", "phases", "waves", "boxes", "diagnostics"]);
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
    ["a folder", (repo) => git(repo, "init", "--quiet", "P.md"), /not a file/],
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

describe.concurrent("segno init and run", () => {
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
