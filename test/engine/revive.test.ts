/** A run whose process dies goes on by itself; one that was ended, or that dies of itself, does not. */
import { execFile, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { call, message } from "../../src/rehearsal/reply.js";
import type { FactOf, FactType, RunEvent } from "../../src/run/event.js";
import { FileStore } from "../../src/store/file.js";
import { firstly } from "../support/behaviours.js";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { inPty } from "../support/pty.js";
import { whenOver as after, git, scratchRepo } from "../support/scratch.js";
import { SEGNO, type Site, site } from "../support/segno.js";

const REVIVES = { SEGNO_REVIVE: "true" };

async function eventsIn({ repo }: Site): Promise<RunEvent[]> {
  const store = new FileStore(repo);
  return (await store.read((await store.list())[0] ?? "")).events;
}

async function whenOver(place: Site): Promise<RunEvent[]> {
  const store = new FileStore(place.repo);
  await eventually(
    "the run is over",
    async () => {
      const events = await eventsIn(place);
      const [run = ""] = await store.list();
      return events.some(({ type }) => /^run-(completed|failed|stopped)$/.test(type)) && !(await store.holder(run));
    },
    60,
  );
  return eventsIn(place);
}

const of = <T extends FactType>(events: RunEvent[], type: T) =>
  events.filter((event): event is FactOf<T> & RunEvent => event.type === type);

describe.concurrent("a run whose process dies", () => {
  test("goes on by itself, to the same end; it is said, and the agent's processes are gone", async () => {
    const place = await site({
      repo: scratchRepo(
        planFiles([
          { id: "1", tasks: 3 },
          { id: "2", dependsOn: ["1"] },
        ]),
      ),
    });
    const running = place.segno(["run", "PLAN.md", "--json", "--context-threshold", "71"], { env: REVIVES });
    await running.event((event) => event.type === "progress-reported");
    running.kill("SIGKILL");
    const events = await whenOver(place);
    expect(events.at(-1)?.type).toBe("run-completed");
    expect(of(events, "run-resumed")).toMatchObject([
      { revived: { times: 1, cause: "its process was killed" }, config: { context_threshold: 71 } },
    ]);
    expect(new Set(place.done)).toEqual(new Set(["1/1.1", "1/1.2", "1/1.3", "2/2.1"]));
    expect(place.done.length).toBeLessThanOrEqual(5);
    expect(git(place.repo, "status", "--porcelain")).toBe("");
    const [run = ""] = readdirSync(join(place.repo, ".git/segno/runs"));
    expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
  });

  test("on another branch, because the agent switched before it killed everything: goes on all the same", async () => {
    const place = await site({
      repo: scratchRepo(planFiles([{ id: "1", tasks: 2 }])),
      behave: firstly(
        call("Bash", { command: "git checkout -qb other; kill -9 $PPID; sleep 60", description: "tidy" }),
      ),
    });
    await place.segno(["run", "PLAN.md"], { env: REVIVES }).ended;
    const events = await whenOver(place);
    expect(events.at(-1)?.type).toBe("run-completed");
    expect(git(place.repo, "symbolic-ref", "--short", "HEAD")).toBe("main");
    expect(new Set(place.done)).toEqual(new Set(["1/1.1", "1/1.2"]));
  });

  test("and dies again before anything came of it: failed, with the place and the command", async () => {
    const place = await site({
      repo: scratchRepo(planFiles([{ id: "1" }])),
      behave: (request, worker) =>
        (request.tools ?? []).length === 0
          ? worker(request)
          : message(call("Bash", { command: "kill -9 $PPID; sleep 60", description: "free the port" })),
    });
    await place.segno(["run", "PLAN.md"], { env: REVIVES }).ended;
    const events = await whenOver(place);
    expect(of(events, "run-resumed")).toHaveLength(1);
    expect(of(events, "phase-failed")).toMatchObject([
      {
        category: "crashed",
        message: expect.stringMatching(/twice at the same place, after event \d+ .*: its process was killed/),
      },
    ]);
    expect(events.at(-1)?.type).toBe("run-failed");
    const status = await place.segno(["status"]).ended;
    expect(status.stdout).toContain("Phase 1 failed (crashed): Segno ended twice at the same place");
    expect(status.stdout).toContain("next: segno resume");
  });

  test("is left alone after a stop, and with revive: false", async () => {
    const stopped = await site({
      repo: scratchRepo(planFiles([{ id: "1" }])),
      behave: firstly(call("Bash", { command: "sleep 300", description: "wait", timeout: 600_000 })),
    });
    const running = stopped.segno(["run", "PLAN.md", "--json"], { env: REVIVES });
    await running.event((event) => event.type === "call-made");
    running.kill("SIGINT");
    await running.event((event) => event.type === "stop-requested");
    running.kill("SIGKILL");
    await running.ended;
    const off = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    expect((await off.segno(["run", "PLAN.md"], { killAt: 8 }).ended).signal).toBe("SIGKILL");
    for (const place of [stopped, off]) {
      const [run = ""] = readdirSync(join(place.repo, ".git/segno/runs"));
      // The warden says what it would say by taking the run up; it has, once nothing of the run is left.
      await eventually("its warden is gone", async () => (await wardensOf(run)) === 0, 30);
      expect(of(await eventsIn(place), "run-resumed")).toEqual([]);
    }
  });

  test("a screen that watches goes on watching, and ends with the run", async () => {
    const place = await site({
      repo: scratchRepo(planFiles([{ id: "1", tasks: 2 }])),
      behave: firstly(call("Bash", { command: "kill -9 $PPID; sleep 60", description: "free the port" })),
    });
    const pty = inPty([process.execPath, SEGNO, "run", "PLAN.md"], {
      cwd: place.repo,
      env: { ...place.env, ...REVIVES },
      columns: 100,
      rows: 30,
    });
    expect(await pty.ended).toBe(0);
    expect(of(await eventsIn(place), "run-resumed")).toMatchObject([{ revived: { times: 1 } }]);
    expect((await eventsIn(place)).at(-1)?.type).toBe("run-completed");
  });
});

test("a warden ends what its own Segno started, and nothing of the one that goes on after it", async () => {
  const marked = (marker: string) => {
    const child = spawn("sleep", ["300"], { env: { PATH: process.env.PATH, SEGNO_SESSION: marker }, stdio: "ignore" });
    after(() => child.kill("SIGKILL"));
    return child;
  };
  const [left, next] = [marked("r-1:here:one:1/a1/session/1"), marked("r-1:here:two:1/a1/session/2")];
  const gone = new Promise((resolve) => left.on("exit", resolve));
  await promisify(execFile)(process.execPath, [join(dirname(SEGNO), "warden-sweep.js"), "r-1:here:one:"]);
  await gone;
  expect([left.signalCode, next.signalCode, next.exitCode]).toEqual(["SIGTERM", null, null]);
});

/** Shells that wait for the end of this run. */
async function wardensOf(run: string): Promise<number> {
  const { readFileSync } = await import("node:fs");
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`warden-sweep.js\0${run}:`);
    } catch {
      return false;
    }
  }).length;
}
