/** In control: what commands promise, they keep, also beside a live run. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, message } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { latch, SEGNO, type Site, site } from "../support/segno.js";
import { thorough } from "../support/thorough.js";

/** Each starts several real agents, and what it is about is tested without one in CI: `npm run test:complete`. */

const runsIn = (repo: string): string[] => readdirSync(join(repo, ".git/segno/runs"));
const isWork = (request: ModelRequest): boolean => (request.tools ?? []).length > 0;
const manual = (files: Record<string, string>) => ({ ...files, ".segno/config.yaml": "gates:\n  looks: manual\n" });

/** A plan whose first phase waits for a person. */
function asking(): Record<string, string> {
  const files = planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]);
  files["plan/phase-1.md"] = (files["plan/phase-1.md"] ?? "").replace("## Gates\n", "## Gates\n\n- looks: right\n");
  return manual(files);
}

describe.concurrent("stop", () => {
  thorough("SIGTERM, and segno stop, end a run that waits for a person about a failure", async () => {
    const failing = () =>
      scratchRepo(
        planFiles([
          { id: "1", gates: ["false"] },
          { id: "2", dependsOn: ["1"] },
        ]),
      );
    const env = { SEGNO_MAX_REMEDIATIONS: "0" };
    for (const way of ["signal", "command"] as const) {
      const place = await site({ repo: failing() });
      const running = place.segno(["run", "PLAN.md", "--json", "--attended"], { env });
      await running.event((event) => event.type === "question-asked");
      if (way === "signal") running.kill("SIGTERM");
      else expect((await place.segno(["stop"]).ended).code).toBe(0);
      expect((await running.ended).code).toBe(3);
    }
  });

  test("twice ends at once, whatever runs, with nothing left", async () => {
    const { held, behave } = latch();
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])), behave });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    expect((await place.segno(["stop"]).ended).stdout).toContain("once more ends it at once");
    expect((await place.segno(["stop"]).ended).stdout).toContain("Ending now");
    expect((await running.ended).code).toBe(130);
  });
});

describe.concurrent("what starts nothing starts nothing", () => {
  test("run --dry-run without a plan shows the interrupted run, and leaves it so", async () => {
    const { held, behave } = latch();
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }])), behave });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    running.kill("SIGKILL");
    await running.ended;
    const [run = ""] = runsIn(place.repo);
    const before = readFileSync(join(place.repo, ".git/segno/runs", run, "journal.jsonl"), "utf8");
    const calls = place.exchanges.length;
    const dry = await place.segno(["run", "--dry-run"]).ended;
    expect(dry.code, dry.stderr).toBe(0);
    expect(dry.stdout).toContain(`It would go on with run ${run}`);
    expect(readFileSync(join(place.repo, ".git/segno/runs", run, "journal.jsonl"), "utf8")).toBe(before);
    expect(place.exchanges.length).toBe(calls);
  });

  test("a finished plan: nothing left to do, exit 0, and no run that hides the real one", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(0);
    const again = await place.segno(["run", "PLAN.md"]).ended;
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("Nothing is left to do: all 1 phases")]);
    expect(runsIn(place.repo)).toHaveLength(1);
  });

  test("a second run beside a paused one is told who holds the checkout, and how it goes on", async () => {
    const { held, release, behave } = latch();
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])), behave });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    await place.segno(["pause"]).ended;
    const second = await place.segno(["run", "PLAN.md"]).ended;
    expect([second.code, second.stderr]).toEqual([2, expect.stringContaining(`process ${running.pid}`)]);
    expect(second.stderr).toContain("segno continue");
    // What is undone under a live run it would build on.
    const undo = await place.segno(["undo"]).ended;
    expect([undo.code, undo.stderr]).toEqual([2, expect.stringContaining("Stop it first: segno stop")]);
    release();
    await place.segno(["continue"]).ended;
    expect((await running.ended).code).toBe(0);
  });
});

describe.concurrent("undo", () => {
  const ran = async (phases: Parameters<typeof planFiles>[0], env = {}): Promise<Site> => {
    const place = await site({ repo: scratchRepo(planFiles(phases)) });
    await place.segno(["run", "PLAN.md"], { env }).ended;
    return place;
  };

  test("of one phase among others: its marks are written anew, the others' stay, and it can be run again", async () => {
    const place = await ran([{ id: "1" }, { id: "2" }]);
    const undone = await place.segno(["undo", "--phase", "1"]).ended;
    expect(undone.code, undone.stderr).toBe(0);
    const plan = readFileSync(join(place.repo, "PLAN.md"), "utf8");
    expect(plan.match(/\| Pending \|/g)).toHaveLength(1);
    expect(readFileSync(join(place.repo, "plan/phase-1.md"), "utf8")).toContain("- [ ] 1.1:");
    expect(readFileSync(join(place.repo, "plan/phase-2.md"), "utf8")).toContain("- [x] 2.1:");
    expect(existsSync(join(place.repo, "out/1-1.txt"))).toBe(false);
    expect(git(place.repo, "status", "--porcelain")).toBe("");
    expect((await place.segno(["run", "PLAN.md", "--fresh"]).ended).code).toBe(0);
    expect(place.done).toEqual(["1/1.1", "2/2.1", "1/1.1"]);
  });

  thorough(
    "--move across a commit that is not the run's is refused, and names it; without it only the run's are taken back",
    async () => {
      const place = await ran([{ id: "1" }]);
      writeFileSync(join(place.repo, "mine.txt"), "mine\n");
      git(place.repo, "add", "mine.txt");
      git(place.repo, "commit", "-qm", "mine");
      const mine = git(place.repo, "rev-parse", "--short=9", "HEAD");
      const moved = await place.segno(["undo", "--move"]).ended;
      expect([moved.code, moved.stderr]).toEqual([2, expect.stringContaining(mine)]);
      expect((await place.segno(["undo"]).ended).code).toBe(0);
      expect([existsSync(join(place.repo, "mine.txt")), existsSync(join(place.repo, "out/1-1.txt"))]).toEqual([
        true,
        false,
      ]);
    },
  );

  test("a second time it says so; what Segno did not make stays, and is named", async () => {
    const place = await ran([{ id: "1" }]);
    git(place.repo, "commit", "--quiet", "--allow-empty", "-m", "somebody's");
    const first = await place.segno(["undo"]).ended;
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toMatch(/stays, which Segno did not make \(somebody's\): git revert \w{9}/);
    const second = await place.segno(["undo"]).ended;
    expect([second.code, second.stderr]).toEqual([2, expect.stringContaining("was taken back already")]);
    expect(git(place.repo, "status", "--porcelain")).toBe("");
  });

  thorough("after a failure: the run's own marks are no reason to refuse", async () => {
    const place = await ran([{ id: "1" }, { id: "2", gates: ["false"] }], { SEGNO_MAX_REMEDIATIONS: "0" });
    expect(git(place.repo, "status", "--porcelain")).toContain("PLAN.md");
    const undone = await place.segno(["undo"]).ended;
    expect(undone.code, undone.stderr).toBe(0);
    expect(existsSync(join(place.repo, "out/1-1.txt"))).toBe(false);
    expect(git(place.repo, "status", "--porcelain")).toBe("");
  });
});

describe.concurrent("who is there to answer", () => {
  thorough("a resume finds it out anew, and where nobody ever answers nothing waits for it", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", gates: ["false"] }])) });
    const env = { SEGNO_MAX_REMEDIATIONS: "0" };
    const running = place.segno(["run", "PLAN.md", "--json", "--attended"], { env });
    await running.event((event) => event.type === "question-asked");
    running.kill("SIGTERM");
    await running.ended;
    const resumed = await place.segno(["resume", "--json"], { env }).ended;
    expect([resumed.code, resumed.stdout.includes("question-asked")]).toEqual([1, false]);
    const alone = await site({ repo: scratchRepo(asking()) });
    const ran = await alone.segno(["run", "PLAN.md", "--json"], { env: { CI: "true" } }).ended;
    expect([ran.code, ran.stdout.includes('"by":"nobody answered in time"')]).toEqual([4, true]);
  });

  test("segno answer shows what is asked and takes one word; runs are called by their last part", async () => {
    const place = await site({ repo: scratchRepo(asking()) });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await running.event((event) => event.type === "question-asked");
    const shown = await place.segno(["answer"]).ended;
    expect(shown.stdout).toContain("? phase 1: Everything that can be run has passed");
    expect(shown.stdout).toContain("answer with: segno answer pass");
    const wrong = await place.segno(["answer", "perhaps"]).ended;
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("pass, fail, later")]);
    const short = runsIn(place.repo)[0]?.slice(-4) ?? "";
    expect((await place.segno(["status", short]).ended).code).toBe(0);
    expect((await place.segno(["status", "zzzz"]).ended).stderr).toContain("There is no run zzzz");
    expect((await place.segno(["answer", "1", "pass"]).ended).stdout).toContain("Answered");
    expect((await running.ended).code).toBe(0);
  });
});

describe.concurrent("a failure says why", () => {
  test("in the summary, in status, in the report and with segno gate, which runs it again", async () => {
    const gate = "echo first; echo the reason is here; test -f mended.txt";
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", gates: [gate] }])) });
    const failed = await place.segno(["run", "PLAN.md"], { env: { SEGNO_MAX_REMEDIATIONS: "0" } }).ended;
    const [run = ""] = runsIn(place.repo);
    for (const text of [
      failed.stdout,
      (await place.segno(["status"]).ended).stdout,
      (await place.segno(["report"]).ended).stdout,
    ])
      expect(text).toContain("the reason is here");
    expect(failed.stdout).toContain(`next: segno resume ${run}`);
    const shown = await place.segno(["gate", "gate 1"]).ended;
    expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining("first\nthe reason is here\n")]);
    expect((await place.segno(["gate", "GATE 1", "--phase", "1", "--run"]).ended).code).toBe(1);
    writeFileSync(join(place.repo, "mended.txt"), "");
    expect((await place.segno(["gate", "gate 1", "--run"]).ended).code).toBe(0);
    expect((await place.segno(["gate", "none"]).ended).stderr).toContain("Its gates: gate 1");
  });

  test("a tool that the agent may not use is named once, with the setting that allows it; a phase that gets nowhere says so", async () => {
    const place = await site({
      agent: "claude",
      repo: scratchRepo(planFiles([{ id: "1" }])),
      behave: (request, worker) => {
        if (!isWork(request)) return worker(request);
        if (!JSON.stringify(request.messages).includes("npm test"))
          return message(call("Bash", { command: "npm test", description: "try" }));
        return message(
          call("mcp__segno__phase_result", {
            status: "failed",
            summary: "It may not run anything.",
            tasks_completed: [],
            tasks_remaining: ["1.1"],
            files_modified: [],
            decisions: [],
          }),
        );
      },
    });
    const env = { SEGNO_PERMISSION_MODE: "edits" };
    const ran = await place.segno(["run", "PLAN.md", "--json"], { env }).ended;
    expect(ran.code).toBe(1);
    const events = ran.stdout.split("\n").filter((line) => line.startsWith("{"));
    const said = events.filter(
      (line) => line.includes('"type":"warned"') && line.includes("does not let the agent use"),
    );
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("permission_mode: edits does not let the agent use Bash: list it in allowed_tools");
    expect(events.some((line) => line.includes('"category":"tools_refused"'))).toBe(true);
  });
});

describe.concurrent("the configuration", () => {
  test("get, set with comments kept, unset; a value that cannot be is refused and nothing is written", async () => {
    const repo = scratchRepo({
      ".segno/config.yaml": "# mine\ncontext_threshold: 60 # low\nnotify:\n  - desktop: true\n",
    });
    const place = await site({ repo });
    const config = (...args: string[]) => place.segno(["config", ...args]).ended;
    expect((await config()).stdout).not.toContain("[object Object]");
    expect((await config("get", "context_threshold")).stdout).toBe("60\n");
    expect((await config("set", "context_threshold", "70")).code).toBe(0);
    const file = join(repo, ".segno/config.yaml");
    expect(readFileSync(file, "utf8")).toBe("# mine\ncontext_threshold: 70 # low\nnotify:\n  - desktop: true\n");
    const refused = await config("set", "context_threshold", "700");
    expect([refused.code, readFileSync(file, "utf8").includes("700")]).toEqual([2, false]);
    expect((await config("set", "context_treshold", "70")).stderr).toContain("Did you mean context_threshold");
    expect((await config("unset", "notify")).code).toBe(0);
    expect((await place.segno(["config", "--help"]).ended).stdout).not.toContain("--detach");
  });

  test("a project's file narrows what the user's own permits, and never widens it", async () => {
    const repo = scratchRepo({
      ".segno/config.yaml": "permission_mode: all\nmax_cost_usd: 500\ndenied_tools: [Read]\n",
    });
    const place = await site({ repo });
    const home = join(place.home, ".config/segno");
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "config.yaml"), "permission_mode: edits\nmax_cost_usd: 20\ndenied_tools: [WebFetch]\n");
    const { SEGNO_PERMISSION_MODE: _, ...own } = place.env;
    const shown = await new Promise<string>((resolve) => {
      const child = spawn(process.execPath, [SEGNO, "config", "--json"], { cwd: repo, env: own });
      let text = "";
      child.stdout.on("data", (data) => {
        text += String(data);
      });
      child.on("close", () => resolve(text));
    });
    const config = JSON.parse(shown) as Record<string, { value: unknown; source: string }>;
    expect(config.permission_mode).toEqual({ value: "edits", source: "your own file" });
    expect(config.max_cost_usd).toEqual({ value: 20, source: "your own file" });
    expect(config.denied_tools?.value).toEqual(["WebFetch", "Read"]);
  });
});

describe.concurrent("a rehearsal", () => {
  thorough(
    "leaves real sources valid, says what it found about gates, is listed, and is begun anew when it was stopped",
    async () => {
      const source = "export const answer = 42;\n";
      const files = planFiles([
        { id: "1", tasks: ["Change `src/answer.mjs`"], gates: ["node --check src/answer.mjs"] },
      ]);
      const place = await site({ repo: scratchRepo({ ...files, "src/answer.mjs": source }) });
      const env = { TMPDIR: place.home };
      const ran = await place.segno(["rehearse", "PLAN.md"], { env }).ended;
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.stdout).toMatch(/gates {7}gate 1 \(phase 1\): passed/);
      const listed = JSON.parse((await place.segno(["runs", "--rehearsals", "--json"], { env }).ended).stdout);
      expect(listed).toHaveLength(1);
      const changed = readFileSync(join(listed[0].repository, "src/answer.mjs"), "utf8");
      expect(changed.startsWith(source)).toBe(true);
      expect(changed).toContain("// Task 1.1 of phase 1");
      expect(readFileSync(join(place.repo, "src/answer.mjs"), "utf8")).toBe(source);
      // Of those before it the newest two are kept.
      for (const name of ["a", "b", "c"])
        mkdirSync(join(place.home, `segno-rehearsal-${name}/repository/.git/segno/runs`), { recursive: true });
      const stopping = place.segno(["rehearse", "--example"], { env });
      await eventually("it works", () => /\n\d\d:\d\d:\d\d {2}1 /.test(stopping.said()));
      stopping.kill("SIGTERM");
      const stopped = await stopping.ended;
      expect([stopped.code, stopped.stdout]).toEqual([3, expect.stringContaining("a rehearsal is begun anew")]);
      expect(stopped.stdout).not.toContain("segno resume");
      expect(readdirSync(place.home).filter((name) => name.startsWith("segno-rehearsal-"))).toHaveLength(3);
    },
  );
});

describe.concurrent("the rest", () => {
  test("who only looks runs no command that a project's file names", async () => {
    const evil = "touch hacked";
    const files = planFiles([{ id: "1", gates: [evil] }]);
    const config = `worktree_setup: ${evil}\ntest_command: ${evil}\ngates:\n  lint: ${evil}\nnotify:\n  - command: ${evil}\n`;
    const place = await site({ repo: scratchRepo({ ...files, ".segno/config.yaml": config }) });
    for (const args of [["doctor"], ["audit", "PLAN.md"], [], ["config"], ["status"], ["forecast", "PLAN.md"]])
      await place.segno(args).ended;
    expect(existsSync(join(place.repo, "hacked"))).toBe(false);
  });

  test("the dashboard says how it is reached from another machine, and why it is on this one only", async () => {
    const place = await site({ repo: scratchRepo({}) });
    const looking = place.segno(["dashboard", "--no-open"]);
    await eventually("it listens", async () => {
      const [port] = /127\.0\.0\.1:(\d+)/.exec(looking.said()) ?? [];
      return port !== undefined;
    });
    looking.kill("SIGTERM");
    const { stdout } = await looking.ended;
    expect(stdout).toMatch(/ssh -N -L (\d+):127\.0\.0\.1:\1 \S+@\S+/);
    expect(stdout).toContain("on this machine only, because");
  });

  test("whoever stops reading ends a command quietly", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    await place.segno(["run", "PLAN.md"]).ended;
    for (const args of [["logs", "--json"], ["status"], ["config"], ["--help"], ["diff"]]) {
      const ended = await new Promise<{ code: number | null; stderr: string }>((resolve) => {
        const child = spawn("/bin/sh", ["-c", `"$0" "$@" | head -n 1 > /dev/null`, process.execPath, SEGNO, ...args], {
          cwd: place.repo,
          env: place.env,
        });
        let stderr = "";
        child.stderr.on("data", (data) => {
          stderr += String(data);
        });
        child.on("close", (code) => resolve({ code, stderr }));
      });
      expect(ended, args.join(" ")).toEqual({ code: 0, stderr: "" });
    }
  });

  thorough("what the user committed between a failure and the resume is not left out", async () => {
    const repo = scratchRepo({ ...planFiles([{ id: "1", gates: ["test -f wanted.txt"] }]), "out/1-1.txt": "old\n" });
    const place = await site({ repo });
    const env = { SEGNO_MAX_REMEDIATIONS: "0" };
    expect((await place.segno(["run", "PLAN.md"], { env }).ended).code).toBe(1);
    writeFileSync(join(repo, "wanted.txt"), "wanted\n");
    git(repo, "add", "wanted.txt");
    git(repo, "commit", "-qm", "what was wanted", "--", "wanted.txt");
    const resumed = await place.segno(["resume", "--json"], { env }).ended;
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(resumed.stdout).not.toContain("left out of its commits");
  });

  thorough("clean keeps the newest and what is young", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    await place.segno(["run", "PLAN.md"]).ended;
    await place.segno(["run", "PLAN.md", "--force"]).ended;
    const clean = async (...args: string[]) =>
      JSON.parse((await place.segno(["clean", "--json", ...args]).ended).stdout) as { removed: string[] };
    expect((await clean("--older-than", "14d")).removed).toEqual([]);
    expect((await clean("--keep", "1")).removed).toHaveLength(1);
    expect((await place.segno(["clean", "--older-than", "soon"]).ended).stderr).toContain("is no age");
    expect(runsIn(place.repo)).toHaveLength(1);
  });
});
