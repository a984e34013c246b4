import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { call } from "../../src/rehearsal/reply.js";
import { firstly } from "../support/behaviours.js";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { eventsOf, site } from "../support/segno.js";
import { isThorough, thorough } from "../support/thorough.js";

const runIn = (repo: string): string => readdirSync(join(repo, ".git/segno/runs"))[0] ?? "";
const alive = (run: string) => findProcesses((marker) => marker.startsWith(`${run}:`));

const runs = (command: string) => firstly(call("Bash", { command, description: "first", timeout: 600_000 }));

describe.concurrent("kill and signals", () => {
  test("when Segno is killed, its sessions' processes end within seconds by themselves, detached ones included", async () => {
    const place = await site({
      agent: "claude",
      repo: scratchRepo(planFiles([{ id: "1" }])),
      behave: runs("(setsid sh -c 'while true; do sleep 0.1; done' > /dev/null 2>&1 &) ; sleep 300"),
    });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await running.event((event) => event.type === "call-made");
    const run = runIn(place.repo);
    await eventually("agent, shell and what it detached are there", async () => (await alive(run)).length >= 4);
    running.kill("SIGKILL");
    await eventually("all of them are gone", async () => (await alive(run)).length === 0, 20);
  });

  test.each(isThorough ? (["SIGTERM", "SIGHUP"] as const) : (["SIGTERM"] as const))(
    "%s once: the running tool finishes, a checkpoint is saved, exit 3, and the command that goes on is printed and works",
    async (signal) => {
      const place = await site({
        agent: "claude",
        repo: scratchRepo(planFiles([{ id: "1", tasks: 3 }])),
        behave: runs("touch begun.txt; sleep 2; rm begun.txt; echo finished > tool.txt"),
      });
      const running = place.segno(["run", "PLAN.md"]);
      await eventually("the tool runs", () => existsSync(join(place.repo, "begun.txt")));
      running.kill(signal);
      const ended = await running.ended;
      expect(ended.code).toBe(3);
      expect(readFileSync(join(place.repo, "tool.txt"), "utf8")).toBe("finished\n");
      expect(ended.stdout).toContain("checkpoint from the agent and the ledger");
      const run = runIn(place.repo);
      expect(ended.stdout).toContain(`go on with  segno resume ${run}`);
      expect(await alive(run)).toEqual([]);
      expect(git(place.repo, "status", "--porcelain")).toBe("");
      const resumed = await place.segno(["resume", run]).ended;
      expect(resumed.code, resumed.stderr).toBe(0);
      expect(place.done).toEqual(["1/1.1", "1/1.2", "1/1.3"]);
    },
  );

  thorough("SIGINT twice: ended now, exit 130, no process left", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])), behave: runs("sleep 300") });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await running.event((event) => event.type === "call-made");
    running.kill("SIGINT");
    await running.event((event) => event.type === "stop-requested");
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(await alive(runIn(place.repo))).toEqual([]);
  });

  test("a full disk stops the run with exit 3 and nothing left running; with room again it goes on", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 2 }])) });
    const ended = await place.segno(["run", "PLAN.md"], { fullAt: 12 }).ended;
    expect(ended.stderr).toContain("The disk is full");
    expect(ended.code).toBe(3);
    const run = runIn(place.repo);
    expect(await alive(run)).toEqual([]);
    const resumed = await place.segno(["resume", "--json"]).ended;
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(eventsOf(resumed)[0]).toMatchObject({ type: "run-resumed", torn: expect.any(Number) });
    expect(new Set(place.done)).toEqual(new Set(["1/1.1", "1/1.2"]));
  });

  test("with all that Segno keeps deleted, what is committed is recognised from git: finished phases and finished tasks", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", tasks: 5, dependsOn: ["1"] }]));
    const place = await site({ agent: "claude", repo, charsPerTask: 9_000 });
    const flags = ["run", "PLAN.md", "--json", "--context-limit", "36000"];
    const running = place.segno(flags);
    await running.event((event) => event.type === "commit-made" && event.kind === "handover" && event.phase === "2");
    running.kill("SIGKILL");
    await running.ended;
    await eventually("its agents are gone", async () => (await alive(runIn(repo))).length === 0);
    const before = [...place.done];
    rmSync(join(repo, ".segno"), { recursive: true });
    rmSync(join(repo, ".git/segno"), { recursive: true });
    git(repo, "checkout", "--quiet", ".");
    git(repo, "clean", "-fdq");
    const again = await place.segno(flags).ended;
    expect(again.code, again.stderr).toBe(0);
    const [started] = eventsOf(again);
    expect(started).toMatchObject({ type: "run-started", takenAsDone: ["1"] });
    const known = started?.type === "run-started" ? (started.tasksInGit["2"] ?? []) : [];
    expect(known.length).toBeGreaterThan(0);
    const after = place.done.slice(before.length);
    expect(after.filter((task) => known.includes(task.slice(2)) || task.startsWith("1/"))).toEqual([]);
    expect(git(repo, "ls-files", "out").split("\n")).toHaveLength(6);
  });
});

describe.concurrent("going on", () => {
  test("segno run of the same plan goes on with an interrupted run, saying so; an old one only when asked, and with no plan none that is old", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 2 }])) });
    expect((await place.segno(["run", "PLAN.md"], { killAt: 8 }).ended).signal).toBe("SIGKILL");
    const run = runIn(place.repo);
    const old = await place.segno(["run", "PLAN.md"], { env: { SEGNO_RESUME_WINDOW_HOURS: "0" } }).ended;
    expect(old.code).toBe(2);
    expect(old.stderr).toContain(`segno resume ${run}`);
    expect(old.stderr).toContain("--fresh");
    const newest = await place.segno(["run"], { env: { SEGNO_RESUME_WINDOW_HOURS: "0" } }).ended;
    expect(newest.code).toBe(2);
    const resumed = await place.segno(["run", "PLAN.md"]).ended;
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(resumed.stdout).toContain(`Going on with run ${run}`);
    const nothing = await place.segno(["run"]).ended;
    expect([nothing.code, nothing.stdout.includes("Nothing is left to do")]).toEqual([0, true]);
    const done = await place.segno(["resume", run]).ended;
    expect([done.code, done.stderr.includes("all its phases are done")]).toEqual([2, true]);
  });

  thorough("with --fresh an interrupted run is left behind, and a new one begins", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    await place.segno(["run", "PLAN.md"], { killAt: 8 }).ended;
    const run = runIn(place.repo);
    const fresh = await place.segno(["run", "PLAN.md", "--fresh", "--json"]).ended;
    expect(fresh.code, fresh.stderr).toBe(0);
    const [started] = eventsOf(fresh);
    expect(started?.type === "run-started" && started.run !== run).toBe(true);
  });

  test("a failed run goes on too: a further attempt of the failed phase, from what the first one left", async () => {
    const repo = scratchRepo({
      ...planFiles([{ id: "1", tasks: 2, gates: ["test -f by-hand.txt"] }]),
      ".segno/config.yaml": "max_remediations: 0\n",
    });
    const place = await site({ repo });
    expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(1);
    expect(git(repo, "log", "--oneline").split("\n")).toHaveLength(1);
    writeFileSync(join(repo, "by-hand.txt"), "the user repaired it\n");
    const again = await place.segno(["run", "PLAN.md", "--json"]).ended;
    expect(again.code, again.stdout + again.stderr).toBe(0);
    expect(eventsOf(again).find((event) => event.type === "phase-started")).toMatchObject({ attempt: 2 });
    expect(place.done).toEqual(["1/1.1", "1/1.2"]);
    expect(git(repo, "ls-files", "out").split("\n")).toHaveLength(2);
  });

  test("a damaged journal is a clear error that names the line, and what is still sound", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    await place.segno(["run", "PLAN.md"], { killAt: 10 }).ended;
    const path = join(place.repo, ".git/segno/runs", runIn(place.repo), "journal.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(
      path,
      lines.map((line, index) => (index === 4 ? line.replace('"epoch":1', '"epoch":7') : line)).join("\n"),
    );
    for (const args of [["resume", runIn(place.repo)], ["status"]]) {
      const ended = await place.segno(args).ended;
      expect(ended.code).toBe(2);
      expect(ended.stderr).toMatch(/journal\.jsonl is damaged at line 5[\s\S]*4 events before it are sound/);
    }
  });
});

describe.concurrent("while the run rests, the checkout is the user's", () => {
  test("what they edit, add and stage between a failure and the resume is never committed, and what the phase left is kept beside it", async () => {
    const repo = scratchRepo({
      ...planFiles([{ id: "1", tasks: 2, gates: ["test -f by-hand.txt"] }]),
      "theirs.txt": "a\n",
      ".segno/config.yaml": "max_remediations: 0\n",
    });
    const place = await site({ repo });
    expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(1);
    expect(existsSync(join(repo, "out"))).toBe(false);
    mkdirSync(join(repo, "out"));
    writeFileSync(join(repo, "out/1-1.txt"), "the user's own version\n");
    writeFileSync(join(repo, "theirs.txt"), "edited\n");
    writeFileSync(join(repo, "by-hand.txt"), "added\n");
    git(repo, "add", "theirs.txt");
    const resumed = await place.segno(["resume"]).ended;
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
    expect(resumed.stdout).toContain("left out of its commits");
    expect(git(repo, "show", "--name-only", "--format=", "HEAD").split("\n").sort()).toEqual([
      "PLAN.md",
      "out/1-2.txt",
      "plan/phase-1.md",
    ]);
    // Where they wrote the same file it stays theirs, and is named; the phase's own version is kept.
    expect(resumed.stdout).toContain("What an earlier attempt left in out/1-1.txt does not fit what came since");
    expect(git(repo, "show", `refs/segno/${runIn(repo)}/aside/1-a1:out/1-1.txt`)).toContain("1.1");
    expect(readFileSync(join(repo, "out/1-1.txt"), "utf8")).toBe("the user's own version\n");
    expect(git(repo, "status", "--porcelain").split("\n")).toEqual([
      "M  theirs.txt",
      "?? by-hand.txt",
      "?? out/1-1.txt",
    ]);
  });

  test("a resume on another branch, or in the middle of a merge, is refused and changes nothing", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const place = await site({ repo });
    await place.segno(["run", "PLAN.md"], { killAt: 8 }).ended;
    git(repo, "checkout", "--quiet", "-b", "other");
    const elsewhere = await place.segno(["resume"]).ended;
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      2,
      expect.stringContaining("works on branch main, and other is checked out"),
    ]);
    git(repo, "checkout", "--quiet", "main");
    writeFileSync(join(repo, ".git/MERGE_HEAD"), `${git(repo, "rev-parse", "HEAD")}\n`);
    const merging = await place.segno(["resume"]).ended;
    expect([merging.code, merging.stderr]).toEqual([2, expect.stringContaining("merge is in progress")]);
    rmSync(join(repo, ".git/MERGE_HEAD"));
    expect((await place.segno(["resume"]).ended).code).toBe(0);
  });

  test("a failed phase that the user marks as done counts as done when the run goes on", async () => {
    const repo = scratchRepo({
      ...planFiles([
        { id: "1", gates: ["false"] },
        { id: "2", dependsOn: ["1"] },
      ]),
      ".segno/config.yaml": "max_remediations: 0\n",
    });
    const place = await site({ repo });
    expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(1);
    const file = join(repo, "plan/phase-1.md");
    writeFileSync(file, readFileSync(file, "utf8").replace("**Status:** Failed", "**Status:** Done"));
    expect((await place.segno(["resume"]).ended).code).toBe(0);
    expect(place.done).toEqual(["1/1.1", "2/2.1"]);
  });
});

describe.concurrent("commits as configured", () => {
  test("without auto_commit nothing is committed: snapshots are kept under refs/segno, marks are in the files", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const place = await site({ repo });
    const ended = await place.segno(["run", "PLAN.md", "--no-auto-commit", "--json"]).ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(git(repo, "log", "--oneline").split("\n")).toHaveLength(1);
    const refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/segno")
      .split("\n")
      .filter((ref) => ref.includes("/snapshots/"));
    expect(refs).toHaveLength(2);
    expect(git(repo, "ls-tree", "--name-only", `${refs[1]}:out`).split("\n")).toEqual(["1-1.txt", "2-1.txt"]);
    expect(readFileSync(join(repo, "PLAN.md"), "utf8").match(/Completed/g)).toHaveLength(2);
  });

  thorough(
    "commit_on_failure keeps what a failed phase leaves, marked as partial, under the configured message",
    async () => {
      const repo = scratchRepo({
        ...planFiles([{ id: "1", title: "Setup", gates: ["false"] }]),
        ".segno/config.yaml":
          "commit_on_failure: true\nmax_remediations: 0\ncommit_message_template: 'work: {phase_name} [{phase_id}] {status}'\n",
      });
      const place = await site({ repo });
      const ended = await place.segno(["run", "PLAN.md"]).ended;
      expect(ended.code).toBe(1);
      expect(git(repo, "log", "-1", "--format=%s")).toBe("work: Setup [1] ⚠️ partial");
      expect(git(repo, "show", "--name-only", "--format=", "HEAD").split("\n").sort()).toEqual([
        "PLAN.md",
        "out/1-1.txt",
        "plan/phase-1.md",
      ]);
      expect(git(repo, "show", "HEAD:plan/phase-1.md")).toContain("**Status:** Failed");
      expect(existsSync(join(repo, "out/1-1.txt"))).toBe(true);
    },
  );
});
