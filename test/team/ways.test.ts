/** What users of a team do, and what is refused; with the agent in process. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Reply } from "../../src/rehearsal/reply.js";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { PASSWORD, whyNoPostgres } from "../support/postgres.js";
import { git, writeFiles } from "../support/scratch.js";
import { overlaps, type TeamSite, teamSite } from "../support/team.js";

const ONE = [{ id: "1", tasks: 4, gates: ["test -f out/1-4.txt"] }];

const limit = (): Reply => ({
  type: "error",
  status: 429,
  error: "rate_limit_error",
  message: "limit reached",
  headers: {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(Math.ceil(Date.now() / 1_000) + 3_600),
    "x-should-retry": "false",
  },
});

const begin = async (team: TeamSite, ...args: string[]): Promise<string> => {
  const begun = await team.segno(["run", "PLAN.md", "--team", "--detach", "--json", ...args]).ended;
  expect(begun.code, begun.stdout + begun.stderr).toBe(0);
  return (JSON.parse(begun.stdout.trim().split("\n").at(-1) ?? "") as { run: string }).run;
};

const over = async (team: TeamSite, run: string, how = "run-completed"): Promise<void> => {
  const ended = async () => (await team.events()).some((event) => event.run === run && event.type === how);
  await eventually(`${run} is over`, ended).catch(async (error: Error) => {
    const last = (await team.events()).slice(-25).map((event) => JSON.stringify(event).slice(0, 300));
    throw new Error(`${error.message}\n${last.join("\n")}`);
  });
};

describe.skipIf(whyNoPostgres() !== undefined)("a team", () => {
  test("a phase goes only to who has what it needs; one that nobody can take is said", async () => {
    const team = await teamSite({ phases: [{ id: "1", fields: "**Needs:** gpu" }, { id: "2" }] });
    const a = await team.worker(await team.machine("a"), ["--slots", "2"]);
    const run = await begin(team);
    await eventually("it is said", async () =>
      (await team.events()).some((event) => event.type === "warned" && event.message.includes("gpu")),
    );
    const status = await team.segno(["team", "status", "--json"]).ended;
    expect(JSON.parse(status.stdout)).toMatchObject({ workers: [{ worker: "a", labels: [] }], runs: [run] });
    const again = await team.segno(["run", "PLAN.md", "--team"]).ended;
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`${run} of PLAN.md is in progress`)]);
    const there = await team.segno(["run", "PLAN.md", "--team", "--fresh", "--branch", `segno/${run}`]).ended;
    expect([there.code, there.stderr]).toEqual([2, expect.stringContaining("two cannot land on one branch")]);
    await team.worker(await team.machine("b"), ["--labels", "gpu"]);
    await over(team, run);
    const took = (await team.events()).flatMap((event) => (event.type === "phase-taken" ? [event] : []));
    expect(took.filter(({ phase }) => phase === "1").map(({ worker }) => worker)).toEqual(["b"]);
    expect(a.said()).not.toContain("phase 1");
  });

  test("a stop ends a run whose phase nobody can take; a name that is taken, and --until, are refused", async () => {
    const team = await teamSite({ phases: [{ id: "1", fields: "**Needs:** gpu" }] });
    await team.worker(await team.machine("a"));
    const run = await begin(team);
    await eventually("it is said", async () =>
      (await team.events()).some((event) => event.type === "warned" && event.message.includes("gpu")),
    );
    const { clone, env } = await team.machine("a");
    const second = await team.segno(["worker", "--name", "a"], { cwd: clone, env }).ended;
    expect([second.code, second.stderr]).toEqual([2, expect.stringContaining("A worker a is there already")]);
    const until = await team.segno(["run", "PLAN.md", "--team", "--until", "1h"]).ended;
    expect([until.code, until.stderr]).toEqual([2, expect.stringContaining("max_hours")]);
    expect((await team.segno(["stop", "--run", run.split("-").at(-1) ?? ""]).ended).code).toBe(0);
    await over(team, run, "run-stopped");
    expect((await team.segno(["stop"]).ended).stderr).toContain("No run is in progress");
  });

  test("a worker starts no command that only a project's file names", async () => {
    const team = await teamSite({ phases: ONE, config: 'agents: { verify: { acp: "/nowhere/evil --acp" } }\n' });
    const { clone, env } = await team.machine("a");
    const refused = await team.segno(["worker", "--name", "a"], { cwd: clone, env }).ended;
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("/nowhere/evil --acp")]);
  });

  test("a worker that is ended while the remote is away ends all the same", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 6 }], tenths: 10 });
    const machine = await team.machine("a");
    const a = await team.worker(machine);
    await begin(team);
    await eventually("it works", () => team.done.length > 0);
    rmSync(machine.remote);
    a.kill("SIGTERM");
    expect((await a.ended).signal).toBeNull();
  });

  test("a usage limit is its account's: somebody with another account goes on", async () => {
    let calls = 0;
    const team = await teamSite({
      phases: ONE,
      behave: (request, worker) => (request.model === "one" && ++calls > 2 ? limit() : worker(request)),
    });
    const a = await team.machine("a");
    await team.worker(a, ["--account", "scripted=one"], { WHO: "one" });
    const run = await begin(team);
    await eventually("a works", () => calls > 0);
    await team.worker(await team.machine("b"), ["--account", "scripted=two"], { WHO: "two" });
    await over(team, run);
    const events = await team.events();
    const took = events.flatMap((event) => (event.type === "phase-taken" ? [event.worker] : []));
    expect(took).toEqual(["a", "b"]);
    expect(events.some((event) => event.type === "limit-reached" && event.account === "one")).toBe(true);
    expect([...new Set(team.done)]).toHaveLength(4);
    expect(team.done.length).toBeLessThanOrEqual(5);
  });

  test("a worker that is ended hands its phase over with a checkpoint; twice ends it at once", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 6 }], tenths: 10 });
    const a = await team.worker(await team.machine("a"));
    const run = await begin(team);
    await eventually("a task is done", () => team.done.length > 1);
    const b = await team.worker(await team.machine("b"));
    a.kill("SIGTERM");
    const ended = await a.ended;
    expect(ended.code, ended.stdout).toBe(0);
    const events = await team.events();
    expect(events.some((event) => event.type === "checkpoint-saved" && event.phase === "1")).toBe(true);
    expect(events.some((event) => event.type === "phase-let-go" && event.worker === "a")).toBe(true);
    await eventually("b goes on", async () =>
      (await team.events()).some((event) => event.type === "phase-taken" && event.worker === "b"),
    );
    const here = team.beats().length;
    await eventually("b works", () => team.beats().length > here);
    b.kill("SIGTERM");
    await eventually("it is heard", () => b.said().includes("hands its phases over"));
    b.kill("SIGTERM");
    expect((await b.ended).code).toBe(130);
    await team.worker(await team.machine("c"));
    await over(team, run);
    expect(overlaps(team.beats())).toEqual([]);
    expect(new Set(team.done).size).toBe(6);
    // The one in flight when b was ended at once, and the one whose report went with it.
    expect(team.done.length).toBeLessThanOrEqual(8);
  });

  test("watched, asked, paused, answered, stopped and taken up again from any clone", async () => {
    const team = await teamSite({
      phases: [
        { id: "1", tasks: 2 },
        { id: "2", tasks: 8, dependsOn: ["1"] },
      ],
      tenths: 5,
      config: "checkpoint_every: 1\n",
    });
    await team.worker(await team.machine("a"));
    const elsewhere = await team.machine("elsewhere");
    const segno = (...args: string[]) => team.segno(args, { cwd: elsewhere.clone, env: elsewhere.env }).ended;
    const run = await begin(team, "--attended");
    await eventually("it asks", async () => (await team.events()).some(({ type }) => type === "question-asked"));
    // The lease is not kept while a person is asked.
    await eventually("it is let go", async () =>
      (await team.events()).some((event) => event.type === "phase-let-go" && event.phase === "1"),
    );
    expect((await segno("answer")).stdout).toContain("1");
    const asked = JSON.parse((await segno("status", "--json")).stdout) as {
      questions: { choices: { name: string }[] }[];
    };
    const answered = await segno("answer", asked.questions[0]?.choices[0]?.name ?? "");
    expect(answered.code, answered.stdout + answered.stderr).toBe(0);
    await eventually("phase 2 goes on", () => team.done.some((task) => task.startsWith("2/")));
    expect((await segno("pause")).stdout).toContain("Paused");
    await eventually("it pauses", async () => (await segno("status")).stdout.includes("paused"));
    expect((await segno("continue")).stdout).toContain("goes on");
    expect((await segno("stop")).stdout).toContain("Stopping");
    await over(team, run, "run-stopped");
    expect((await segno("runs", "--json")).stdout).toContain(run);
    expect((await segno("report")).stdout).toContain("Phase 2");
    const resumed = await segno("resume", run.split("-").at(-1) ?? "", "--unattended");
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
    expect(team.done.toSorted()).toEqual(["1/1.1", "1/1.2", ...Array.from({ length: 8 }, (_, n) => `2/2.${n + 1}`)]);
    expect((await segno("watch", "--plain")).stdout).toContain("taken by a");
  });

  test("stopped twice, it ends at once wherever it is worked on, and goes on later from what was done", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 4 }], tenths: 50 });
    await team.worker(await team.machine("a"));
    const elsewhere = await team.machine("elsewhere");
    const segno = (...args: string[]) => team.segno(args, { cwd: elsewhere.clone, env: elsewhere.env }).ended;
    const run = await begin(team);
    await eventually("a task is done, and the next one is being worked on", () => team.done.length > 1);
    expect((await segno("team", "status")).stdout).toContain(`works on ${run.split("-").at(-1)}/1`);
    expect((await segno("stop")).stdout).toContain("once more ends it at once");
    const { stdout } = await segno("stop");
    expect(stdout).toContain("Ending now");
    await over(team, run, "run-stopped");
    await eventually("it is let go", async () =>
      (await team.events()).some((event) => event.type === "phase-let-go" && event.phase === "1"),
    );
    const quiet = team.beats().length;
    expect((await segno("team", "status")).stdout).not.toContain("works on");
    expect((await segno("undo")).stderr).toContain(`on segno/${run} of the git remote`);
    expect((await segno("resume")).stderr).toContain(`segno resume ${run}`);
    const resumed = segno("resume", run, "--unattended");
    await eventually("somebody goes on", async () => {
      const taken = (await team.events()).filter((event) => event.type === "phase-taken");
      return taken.length === 2;
    });
    expect(team.beats().length).toBe(quiet);
    const { code, stdout: said, stderr } = await resumed;
    expect(code, said + stderr).toBe(0);
    expect(new Set(team.done).size).toBe(4);
    expect(team.done.length).toBeLessThanOrEqual(6);
    expect(overlaps(team.beats())).toEqual([]);
  });

  test("people with a role of their own: who works, works; who looks, looks and cannot steer", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 4 }], tenths: 5 });
    await team.sql(
      `CREATE ROLE alice LOGIN PASSWORD '${PASSWORD}' IN ROLE segno_worker; CREATE ROLE bob LOGIN PASSWORD '${PASSWORD}' IN ROLE segno_viewer`,
    );
    const alice = { SEGNO_TEAM_USER: "alice" };
    const machine = await team.machine("a");
    const worker = await team.worker(machine, [], alice);
    const begun = await team.segno(["run", "PLAN.md", "--team", "--detach", "--json"], { env: alice }).ended;
    expect(begun.code, begun.stdout + begun.stderr).toBe(0);
    await eventually("it works", () => team.done.length > 0);
    const bob = (...args: string[]) => team.segno(args, { env: { SEGNO_TEAM_USER: "bob" } }).ended;
    expect((await bob("status")).stdout).toContain("running");
    for (const looks of [["team", "status"], ["runs"]]) {
      const looked = await bob(...looks);
      expect(looked.code, looked.stderr).toBe(0);
    }
    for (const acts of [["stop"], ["worker", "--name", "bob"]]) {
      const refused = await bob(...acts);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("permission denied")]);
    }
    await eventually("it is over", async () => (await team.events()).some(({ type }) => type === "run-completed"));
    worker.kill("SIGKILL");
    await worker.ended;
    // A lease of somebody who died is given up by workers, too, and not by its owner alone.
    const again = await team.segno(["run", "PLAN.md", "--team", "--detach", "--force", "--json"], { env: alice }).ended;
    expect(again.code, again.stderr).toBe(0);
    const second = await team.worker(await team.machine("b"), [], alice);
    await eventually("it works", () => team.done.length > 5);
    second.kill("SIGKILL");
    await team.worker(machine, [], alice);
    await eventually(
      "it is over",
      async () => (await team.events()).filter(({ type }) => type === "run-completed").length === 2,
    );
    // What is over is taken away by the owner of the database alone.
    const clean = (env = {}) => team.segno(["clean", "--team", "--keep", "1", "--json"], { env }).ended;
    const refused = await clean(alice);
    expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining("only the database's owner may")]);
    const runs = [...new Set((await team.events()).map(({ run }) => run))].toSorted();
    const cleaned = JSON.parse((await clean()).stdout);
    expect(cleaned).toMatchObject({ removed: [runs[0]], kept: [{ run: runs[1] }] });
    expect([...new Set((await team.events()).map(({ run }) => run))]).toEqual([runs[1]]);
  });

  test("taken up again, it hears what is said then", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 4 }], tenths: 5, config: "max_restarts: 3\n" });
    await team.worker(await team.machine("a"));
    const run = await begin(team);
    await eventually("a task is done", () => team.done.length > 0);
    expect((await team.segno(["stop"]).ended).code).toBe(0);
    await over(team, run, "run-stopped");
    const { code, stdout, stderr } = await team.segno(["resume", run, "--unattended", "--max-restarts", "7"]).ended;
    expect(code, stdout + stderr).toBe(0);
    const resumed = (await team.events()).find(({ type }) => type === "run-resumed");
    expect(resumed).toMatchObject({ config: { max_restarts: 7, split: "off" } });
    expect(team.done).toHaveLength(4);
  });

  test("one whose branch another run works on now is not taken up again beside it", async () => {
    const team = await teamSite({ phases: ONE });
    const first = await begin(team, "--branch", "shared");
    for (let n = 0; n < 2; n++) expect((await team.segno(["stop"]).ended).code).toBe(0);
    await over(team, first, "run-stopped");
    const second = await begin(team, "--branch", "shared");
    const refused = await team.segno(["resume", first, "--unattended"]).ended;
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`Run ${second} of this team works on`)]);
    expect((await team.events()).some(({ type }) => type === "run-resumed")).toBe(false);
  });

  test("two repositories in one database: workers take only what is their own's", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 2 }] });
    const a = await team.worker(await team.machine("a"));
    // The same clone under another name is another repository: its worker is there first, and has everything it needs.
    const other = await team.machine("a");
    const file = join(other.clone, ".segno/team.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace(/^repo:.*$/m, "repo: another"));
    const b = await team.worker(other);
    a.kill("SIGTERM");
    await a.ended;
    const run = await begin(team);
    const status = async (cwd: string) =>
      JSON.parse((await team.segno(["team", "status", "--json"], { cwd, env: other.env }).ended).stdout) as {
        workers: { worker: string }[];
        runs: string[];
      };
    expect(await status(other.clone)).toMatchObject({ workers: [{ worker: "a" }], runs: [] });
    expect(await status(team.repo)).toMatchObject({ workers: [], runs: [run] });
    await team.worker(await team.machine("c"));
    await over(team, run);
    const took = (await team.events()).flatMap((event) => (event.type === "phase-taken" ? [event.worker] : []));
    expect(took).toEqual(["c"]);
    expect(b.said()).not.toContain(run);
  });

  test("a remote that cannot be reached is said: before a run is begun, and by whoever works", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 3 }], tenths: 5 });
    const machine = await team.machine("a");
    await team.worker(machine);
    renameSync(team.remote, `${team.remote}.away`);
    const refused = await team.segno(["run", "PLAN.md", "--team"]).ended;
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("The git remote cannot be reached")]);
    expect(refused.stderr).toContain("git ls-remote");
    expect(await team.events()).toEqual([]);
    renameSync(`${team.remote}.away`, team.remote);
    const run = await begin(team);
    await eventually("it works", () => team.done.length > 0);
    renameSync(machine.remote, `${machine.remote}.away`);
    await eventually("it is said", async () =>
      (await team.events()).some(
        (event) => event.type === "warned" && event.message.startsWith("a: the git remote cannot be reached"),
      ),
    );
    renameSync(`${machine.remote}.away`, machine.remote);
    await over(team, run);
    expect(team.done).toHaveLength(3);
  });

  test("two plans at once", async () => {
    const team = await teamSite({
      phases: [
        { id: "1", tasks: 3 },
        { id: "2", tasks: 3 },
      ],
    });
    const other = Object.fromEntries(
      Object.entries(planFiles([{ id: "7", tasks: 3 }])).map(([path, text]) => [`other/${path}`, text]),
    );
    writeFiles(team.repo, other);
    git(team.repo, "add", "--all");
    git(team.repo, "commit", "--quiet", "-m", "another plan");
    git(team.repo, "push", "--quiet", "origin", "HEAD");
    for (const name of ["a", "b"]) await team.worker(await team.machine(name), ["--slots", "2"]);
    const first = team.segno(["run", "PLAN.md", "--team", "--json"]);
    const second = team.segno(["run", "other/PLAN.md", "--team", "--json"]);
    for (const { code, stdout, stderr } of [await first.ended, await second.ended])
      expect(code, stdout.slice(-2_000) + stderr).toBe(0);
    expect(team.done.toSorted()).toHaveLength(9);
    expect(new Set(team.done).size).toBe(9);
    // Phases that begin at the same time on one machine share its clone.
    const warnings = (await team.events()).flatMap((event) => (event.type === "warned" ? [event.message] : []));
    expect(warnings.filter((message) => message.includes("remote"))).toEqual([]);
  });

  test("what cannot be is refused in words, and nothing is begun", async () => {
    const team = await teamSite({ phases: ONE });
    const refused = async (args: string[], ...words: string[]) => {
      const { code, stderr } = await team.segno(args).ended;
      expect(code, stderr).toBe(words.includes("cannot be reached") ? 75 : 2);
      for (const word of words) expect(stderr).toContain(word);
    };
    await refused(["team", "init", "postgres://me:hidden@127.0.0.1/db"], "password", ".pgpass");
    await refused(["team", "init", "postgres://me@db.example.org/db"], "verify-full");
    await refused(["team", "init", "postgres://me@127.0.0.1:1/db"], "cannot be reached");
    await refused(["run", "PLAN.md", "--team", "--branch", "main"], "default branch", "--on-default-branch");
    await refused(["worker", "--slots", "many"], "slots");
    await refused(["worker", "--account", "nobody"], "account");
    writeFileSync(join(team.repo, "new.txt"), "new\n");
    git(team.repo, "add", "new.txt");
    git(team.repo, "commit", "--quiet", "-m", "not pushed");
    await refused(["run", "PLAN.md", "--team"], "not on the git remote", "git push");
    git(team.repo, "push", "--quiet", "origin", "HEAD");
    const file = join(team.repo, ".segno/team.yaml");
    const said = readFileSync(file, "utf8");
    expect(said).not.toContain(PASSWORD);
    expect(git(team.repo, "ls-files", ".segno")).toContain("team.yaml");
    writeFileSync(file, said.replace(/^repo:.*$/m, ""));
    await refused(["team", "status"], "repo is missing");
    writeFileSync(file, said);
    expect(await team.events()).toEqual([]);
  });

  test("somebody who pushes to the run's branch is not pushed over", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 3 }], tenths: 10, config: "on_failure: stop\n" });
    await team.worker(await team.machine("a"));
    const run = await begin(team, "--unattended");
    await eventually("a task is done", () => team.done.length > 0);
    const branch = `segno/${run}`;
    git(team.repo, "fetch", "--quiet", "origin", branch);
    git(team.repo, "checkout", "--quiet", "-b", "theirs", "FETCH_HEAD");
    git(team.repo, "commit", "--quiet", "--allow-empty", "-m", "somebody else's");
    git(team.repo, "push", "--quiet", "origin", `theirs:${branch}`);
    const theirs = git(team.repo, "rev-parse", "theirs");
    await over(team, run, "run-failed");
    expect(git(team.remote, "rev-parse", branch)).toBe(theirs);
    expect((await team.segno(["status"]).ended).stdout).toContain("somebody moved it");
  });

  test("no password is in the journal, a log, an agent's environment or a git object", async () => {
    const team = await teamSite({ phases: [{ id: "1", tasks: 2, gates: ["env | sort > out/env.txt"] }], tenths: 1 });
    const a = await team.machine("a");
    const worker = await team.worker(a, [], { PGPASSWORD: PASSWORD });
    const run = await begin(team);
    await over(team, run);
    worker.kill("SIGTERM");
    const { stdout, stderr } = await worker.ended;
    expect(stdout + stderr).not.toContain(PASSWORD);
    expect(JSON.stringify(await team.events())).not.toContain(PASSWORD);
    const objects = execFileSync("git", ["cat-file", "--batch-all-objects", "--batch"], {
      cwd: team.remote,
      maxBuffer: 1e9,
    });
    expect(objects.includes(PASSWORD)).toBe(false);
    expect(objects.includes("HOME=")).toBe(true);
    for (const name of readdirSync(a.home, { recursive: true, withFileTypes: true }))
      if (name.isFile() && name.name !== ".pgpass")
        expect(readFileSync(join(name.parentPath, name.name)).includes(PASSWORD), name.name).toBe(false);
  });
});
