/** Whoever uses a team for the first time, or with a bad line: what they type counts, and what they are told is true. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CHROMIUM, openBrowser } from "../support/browser.js";
import { eventually } from "../support/eventually.js";
import { PASSWORD, whyNoPostgres } from "../support/postgres.js";
import { inPty } from "../support/pty.js";
import { git, scratchFolder } from "../support/scratch.js";
import { SEGNO } from "../support/segno.js";
import { type TeamSite, teamSite } from "../support/team.js";

const ONE = [{ id: "1", tasks: 3 }];
const TRACE = /\n\s+at /;

const runsOf = async (team: TeamSite): Promise<string[]> => [...new Set((await team.events()).map(({ run }) => run))];

const begin = async (team: TeamSite): Promise<string> => {
  const { code, stdout, stderr } = await team.segno(["run", "PLAN.md", "--team", "--detach", "--json"]).ended;
  expect(code, stdout + stderr).toBe(0);
  return (JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { run: string }).run;
};

const isOver = async (team: TeamSite): Promise<boolean> =>
  (await team.events()).some(({ type }) => /^run-(completed|stopped)$/.test(type));

describe.skipIf(whyNoPostgres() !== undefined)("a team, to who comes new", () => {
  test("a password that is typed counts, and is not shown; leaving the question leaves the command", async () => {
    const team = await teamSite({ phases: ONE });
    const env = { ...team.env, HOME: scratchFolder() };
    const ask = (keys: string) => {
      const pty = inPty(["node", SEGNO, "team", "status"], { cwd: team.repo, env, columns: 120, rows: 20 });
      const typed = pty.until((frame) => frame.join("").includes("Password of owner"), "the question");
      return { pty, ended: typed.then(() => pty.type(keys)).then(() => pty.ended) };
    };
    const right = ask(`${PASSWORD}\r`);
    expect(await right.ended, right.pty.raw()).toBe(0);
    expect(right.pty.raw()).toContain("No worker is there");
    expect(right.pty.raw()).not.toContain(PASSWORD);
    const left = ask("\u0003");
    expect(await left.ended).toBe(130);
    const file = join(env.HOME, "password");
    writeFileSync(file, `${PASSWORD}\r\n`, { mode: 0o600 });
    const named = await team.segno(["status", "--json"], { env: { HOME: env.HOME, SEGNO_TEAM_PASSWORD_FILE: file } })
      .ended;
    expect([named.code, named.stdout]).toEqual([2, expect.stringContaining("no-run")]);
  });

  test("what a committed file says is never a command; what is no URL or name is refused in words", async () => {
    const team = await teamSite({ phases: ONE });
    const file = join(team.repo, ".segno/team.yaml");
    const said = readFileSync(file, "utf8");
    const mark = join(scratchFolder(), "mark");
    const script = join(scratchFolder(), "evil");
    writeFileSync(script, `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    const refused = async (args: string[], word: string) => {
      const { code, stderr } = await team.segno(args).ended;
      expect([code, stderr]).toEqual([2, expect.stringContaining(word)]);
      expect(stderr).not.toMatch(TRACE);
    };
    writeFileSync(file, said.replace(/^remote:.*$/m, `remote: "--upload-pack=${script}"`));
    git(team.repo, "commit", "--quiet", "-am", "another remote");
    git(team.repo, "push", "--quiet", "origin", "HEAD");
    for (const args of [["--branch", "work"], []])
      await refused(["run", "PLAN.md", "--team", ...args], "no git remote");
    expect(existsSync(mark)).toBe(false);
    writeFileSync(file, said.replace(/^database:.*$/m, "database: postgres://a@127.0.0.1/%zz"));
    await refused(["team", "status"], "no URL");
    await refused(["team", "init", "postgres://a@127.0.0.1/%zz"], "no URL");
    writeFileSync(file, said);
    const database = /^database: (.*)$/m.exec(said)?.[1] ?? "";
    await refused(["team", "init", database, "--name", "a b/c"], "no name for a repository");
    expect((await team.segno(["team", "init", database, "--name", "own"]).ended).code).toBe(0);
    // Once more, it is still called that.
    expect((await team.segno(["team", "init", database]).ended).stdout).toContain('"own"');
    for (const [flag, value, word] of [
      ["--agents", ",", "without an agent"],
      ["--name", "..", "no name for a worker"],
      ["--account", "=x", "names no account"],
      ["--account", "other=x", "not among the agents"],
    ] as const)
      await refused(["worker", flag, value], word);
  });

  test("two who begin the same plan at the same moment begin it once; nobody works on it yet, and that is said", async () => {
    const team = await teamSite({ phases: ONE });
    const both = await Promise.all(
      [1, 2].map(() => team.segno(["run", "PLAN.md", "--team", "--detach", "--json"]).ended),
    );
    expect(both.map(({ code }) => code).toSorted(), JSON.stringify(both)).toEqual([0, 2]);
    const [run = "", ...more] = await runsOf(team);
    expect(more).toEqual([]);
    // Nothing is left of the other.
    expect(git(team.remote, "branch", "--list", "segno/*").split("\n")).toHaveLength(1);
    expect(JSON.parse((await team.segno(["status", "--json"]).ended).stdout)).toMatchObject({
      run,
      interrupted: false,
    });
    expect((await team.segno(["status"]).ended).stdout).toContain("waits for a worker");
    expect((await team.segno(["runs"]).ended).stdout).not.toContain("interrupted");
    const queue = JSON.parse((await team.segno(["team", "status", "--json"]).ended).stdout).queue;
    expect(queue).toMatchObject([{ jobs: 1, held: 0 }]);
  });

  test("whoever leaves the terminal of a run is told that it goes on; who may not clean drops nothing", async () => {
    const team = await teamSite({ phases: ONE, tenths: 5 });
    await team.sql(`CREATE ROLE carla LOGIN PASSWORD '${PASSWORD}' IN ROLE segno_viewer`);
    await team.worker(await team.machine("a"));
    const shown = team.segno(["run", "PLAN.md", "--team", "--plain"]);
    await eventually("it works", () => team.done.length > 0);
    shown.kill("SIGINT");
    const left = await shown.ended;
    expect([left.code, left.stderr]).toEqual([130, expect.stringContaining("goes on without this terminal")]);
    await eventually("it is over", () => isOver(team));
    const [run = ""] = await runsOf(team);
    const sent = () => git(team.remote, "for-each-ref", "--format=%(refname)", "refs/segno");
    await eventually("what was sent for it is taken away", () => sent() === "");
    const kept = `refs/segno/${run}/phase/9/e1`;
    git(team.remote, "update-ref", kept, "HEAD");
    const refused = await team.segno(["clean", "--team"], { env: { SEGNO_TEAM_USER: "carla" } }).ended;
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("only the database's owner may")]);
    expect(sent()).toBe(kept);
    // A viewer's run leaves no branch behind.
    const begun = await team.segno(["run", "PLAN.md", "--team", "--force"], { env: { SEGNO_TEAM_USER: "carla" } })
      .ended;
    expect(begun.code).toBe(2);
    expect(git(team.remote, "branch", "--list", "segno/*").split("\n")).toHaveLength(1);
  });

  test("while the database is away, nobody is told that there is no run", async () => {
    const team = await teamSite({ phases: ONE });
    await begin(team);
    const { clone, env, line } = await team.machine("a");
    line.cut();
    for (const args of [["status"], ["stop"], ["runs"], ["answer"], ["logs"], ["report"], ["resume"], ["watch"]]) {
      const { code, stdout, stderr } = await team.segno(args, { cwd: clone, env }).ended;
      expect([args[0], code], stdout + stderr).toEqual([args[0], 75]);
      expect(stdout + stderr).not.toMatch(/\b(no run|damaged)\b/i);
    }
  });

  test("whichever answer is lost, nothing is done twice and nothing untrue is said", { timeout: 0 }, async () => {
    const team = await teamSite({ phases: ONE });
    const run = await begin(team);
    const { clone, env, line } = await team.machine("a");
    const again = ["run", "PLAN.md", "--team", "--detach"];
    let tried = 0;
    for (const args of [
      again,
      ["status"],
      ["team", "status"],
      ["logs"],
      ["runs"],
      ["resume", run, "--detach"],
      ["pause"],
    ])
      for (let n = 0, before = -1; before !== line.lost; n++) {
        before = line.lost;
        line.loseNextAnswer(n);
        const { code, stdout, stderr } = await team.segno(args, { cwd: clone, env }).ended;
        if (line.lost === before) continue;
        tried++;
        const what = `${args.join(" ")}, answer ${n}: ${code}\n${stdout}${stderr}`;
        expect(stdout + stderr, what).not.toMatch(TRACE);
        expect(stdout + stderr, what).not.toMatch(/\b(no run|damaged|empty|nobody conducts)\b|on branch \./i);
        // What is refused when all is well is refused now; else it is done, or to be tried again.
        expect(args === again ? [2, 75] : [0, 75], what).toContain(code);
      }
    line.loseNextAnswer(1_000_000);
    expect(tried).toBeGreaterThan(40);
    expect(await runsOf(team)).toEqual([run]);
    expect((await team.events()).filter(({ type }) => type === "run-resumed")).toEqual([]);
  });

  test("who follows a run goes on after the line was cut", async () => {
    const team = await teamSite({ phases: ONE, tenths: 15 });
    await team.worker(await team.machine("a"));
    await begin(team);
    const { clone, env, line } = await team.machine("b");
    const follows = team.segno(["logs", "--follow"], { cwd: clone, env });
    await eventually("it shows something", () => follows.said().includes("phase"));
    line.cut();
    await sleep(2_500);
    line.mend();
    await eventually("it is over", () => isOver(team));
    const { code, stdout, stderr } = await follows.ended;
    expect(code, stdout + stderr).toBe(0);
    expect(stdout.split("\n").at(-2)).toMatch(/completed|done/i);
    // What it did is on the remote, and comes with one command.
    const diff = () => team.segno(["diff"], { cwd: clone, env }).ended;
    const away = await diff();
    expect([away.code, away.stderr]).toEqual([2, expect.stringContaining("not in this clone")]);
    const [, fetch = ""] = /git (fetch .*)$/m.exec(away.stderr) ?? [];
    git(clone, ...fetch.split(" "));
    expect((await diff()).stdout).toContain("out/1-3.txt");
  });

  test.skipIf(CHROMIUM === undefined)(
    "a page that was opened while the database was away shows what it can",
    async () => {
      const team = await teamSite({ phases: ONE });
      const run = await begin(team);
      const { clone, env, line } = await team.machine("b");
      const serves = team.segno(["dashboard"], { cwd: clone, env });
      await eventually("it serves", () => serves.said().includes("?token="));
      const [url = ""] = /http:\S+/.exec(serves.said()) ?? [];
      const page = await (await openBrowser()).newPage();
      line.cut();
      await page.goto(url);
      await page.getByText("The team's database cannot be reached").waitFor();
      line.mend();
      await page.locator("a", { hasText: "Test plan" }).waitFor();
      line.cut();
      await page.getByText("As they were").waitFor();
      await page.goto(`${new URL(url).origin}/#/run/${run}`);
      await page.getByText("This run cannot be shown").waitFor();
      line.mend();
      await page.getByRole("button", { name: "Pause" }).waitFor();
      line.cut();
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByText("cannot be reached").waitFor();
      expect(await page.locator(".card").count()).toBe(1);
      serves.kill("SIGINT");
      await serves.ended;
    },
  );
});
