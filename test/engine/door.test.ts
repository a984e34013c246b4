import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, message, say } from "../../src/rehearsal/reply.js";
import type { RunEvent } from "../../src/run/event.js";
import type { Address } from "../../src/store/store.js";
import { planFiles } from "../support/plans.js";
import { scratchRepo } from "../support/scratch.js";
import { eventsOf, latch, SEGNO, site } from "../support/segno.js";

const folderOf = (repo: string): string =>
  join(repo, ".git/segno/runs", readdirSync(join(repo, ".git/segno/runs"))[0] ?? "");
const doorOf = (repo: string): Address =>
  JSON.parse(readFileSync(join(folderOf(repo), "door.json"), "utf8")) as Address;
const isType = (type: RunEvent["type"]) => (event: RunEvent) => event.type === type;

/** A bare request: `fetch` would not send these headers as given. */
function askHolder(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(`${url}/pause`, { method: "POST", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on("error", reject);
    asked.end();
  });
}

describe.concurrent("two terminals", () => {
  test("a second run in the same checkout is refused: who holds it, since when", async () => {
    const { held, release, behave } = latch();
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 3 }])), behave });
    const first = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    const second = await place.segno(["run", "PLAN.md", "--fresh", "--allow-dirty"]).ended;
    expect(second.code).toBe(2);
    expect(second.stderr).toContain(`process ${first.pid}, since 20`);
    const resumed = await place.segno(["resume"]).ended;
    expect([resumed.code, resumed.stderr.includes(`process ${first.pid}`)]).toEqual([2, true]);
    release();
    expect((await first.ended).code).toBe(0);
    expect(place.done).toEqual(["1/1.1", "1/1.2", "1/1.3"]);
  });

  test("pause and continue, from a folder below the repository's top: nothing begins in between, nothing is lost", async () => {
    const { held, release, behave } = latch();
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 4 }])), behave });
    mkdirSync(join(place.repo, "deep/below"), { recursive: true });
    const cwd = join(place.repo, "deep/below");
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    const paused = await place.segno(["pause"], { cwd }).ended;
    expect([paused.code, paused.stdout.includes("Paused")]).toEqual([0, true]);
    release();
    await running.event(
      (event) => event.type === "turn-ended" && event.end.type === "stopped" && event.end.why === "paused",
    );
    const calls = place.exchanges.length;
    const status = JSON.parse((await place.segno(["status", "--json"]).ended).stdout) as { status: string };
    expect(status.status).toBe("paused");
    expect(place.exchanges.length).toBe(calls);
    expect((await place.segno(["continue"], { cwd }).ended).code).toBe(0);
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(place.done).toEqual(["1/1.1", "1/1.2", "1/1.3", "1/1.4"]);
    expect(eventsOf(ended).filter(isType("session-started"))).toHaveLength(1);
  });

  test("skip leaves a phase out and lets its dependants begin; an unknown one is an error that names the phases", async () => {
    const { held, release, behave } = latch();
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }, { id: "3", dependsOn: ["2"] }]));
    const place = await site({ repo, behave });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    const unknown = await place.segno(["skip", "9"]).ended;
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("phases: 1, 2, 3")]);
    expect((await place.segno(["skip", "2"]).ended).code).toBe(0);
    release();
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(place.done).toEqual(["1/1.1", "3/3.1"]);
    const figures = JSON.parse((await place.segno(["status", "--json"]).ended).stdout) as {
      phases: { status: string }[];
    };
    expect(figures.phases.map((phase) => phase.status)).toEqual(["done", "skipped", "done"]);
  });

  test("stop from another terminal is like a signal; where nothing runs, it says so", async () => {
    const { held, release, behave } = latch();
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 3 }])), behave });
    const nothing = await place.segno(["stop"]).ended;
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("No run is in progress")]);
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await held();
    expect((await place.segno(["stop"]).ended).code).toBe(0);
    release();
    expect((await running.ended).code).toBe(3);
    // Nobody holds it now: a skip is written into its journal and counts when it is taken up again.
    expect((await place.segno(["skip", "1"]).ended).code).toBe(0);
    expect((await place.segno(["resume"]).ended).code).toBe(0);
    expect(place.done.length).toBeLessThan(3);
  });

  test("an agent without MCP reports through the command line and the environment Segno gave it", async () => {
    const segno = `${process.execPath} ${SEGNO}`;
    let reported = false;
    const place = await site({
      repo: scratchRepo(planFiles([{ id: "1" }])),
      behave: (request, worker) => {
        if ((request.tools ?? []).length === 0) return worker(request);
        if (!reported) {
          reported = true;
          return message(
            call("Bash", {
              command: `mkdir -p out && echo x > out/1-1.txt; ${segno} progress "library written" --task 1.1; ${segno} done --phase 2; ${segno} done --phase 1 --summary "all done"`,
              description: "report",
            }),
          );
        }
        return message(say("done"));
      },
    });
    const ended = await place.segno(["run", "PLAN.md", "--json"]).ended;
    expect(ended.code, ended.stdout.slice(-2_000)).toBe(0);
    const events = eventsOf(ended);
    expect(events.find(isType("progress-reported"))).toMatchObject({ task: "1.1", message: "library written" });
    expect(events.find(isType("result-reported"))).toMatchObject({
      result: { status: "completed", summary: "all done" },
    });
    const noParts = await place.segno(["done", "--phase", "1", "--status", "split_request"]).ended;
    expect([noParts.code, noParts.stderr]).toEqual([2, expect.stringContaining("A split needs its parts")]);
    const outside = await place.segno(["progress", "x"]).ended;
    expect([outside.code, outside.stderr]).toEqual([2, expect.stringContaining("for agents inside a run")]);
  });

  test("an agent without MCP asks for a split with its details, as JSON or in a file", async () => {
    const parts = [
      { title: "One", tasks: ["1.1"] },
      { title: "Two", tasks: ["1.2"], depends_on: ["One"] },
    ];
    let asked = false;
    const place = await site({
      repo: scratchRepo({
        ...planFiles([{ id: "1", tasks: 2 }]),
        "split.json": JSON.stringify({ reason: "two areas", recommended_sub_phases: parts }),
      }),
      behave: (request, worker) => {
        if ((request.tools ?? []).length === 0 || asked) return worker(request);
        asked = true;
        const done = `${process.execPath} ${SEGNO} done --phase 1 --status split_request --split split.json`;
        return message(call("Bash", { command: done, description: "split" }));
      },
    });
    const ended = await place.segno(["run", "PLAN.md", "--json"]).ended;
    expect(ended.code, ended.stdout.slice(-2_000)).toBe(0);
    const split = eventsOf(ended).find(isType("phase-split"));
    expect(split?.type === "phase-split" && split.parts.map(({ title, dependsOn }) => [title, dependsOn])).toEqual([
      ["One", []],
      ["Two", ["1a"]],
    ]);
  });

  test("no token, a wrong one, a stale one, another host, another site, a session that steers: refused and recorded", async () => {
    const [first, second] = [latch(), latch()];
    const place = await site({
      agent: "claude",
      repo: scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }])),
      behave: async (request, worker) => {
        if (JSON.stringify(request.messages).includes("# Phase 2:")) await second.behave(request, worker);
        return first.behave(request, worker);
      },
    });
    let sessionToken = "";
    const running = place.segno(["run", "PLAN.md", "--json"]);
    await first.held();
    const { url, token } = doorOf(place.repo);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(statSync(join(folderOf(place.repo), "door.json")).mode & 0o777).toBe(0o600);
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const environ = readFileSync(`/proc/${pid}/environ`, "utf8");
        if (environ.includes(`SEGNO_DOOR=${url}\0`))
          sessionToken = /SEGNO_TOKEN=(\w+)/.exec(environ)?.[1] ?? sessionToken;
      } catch {
        // Gone, or not ours to read.
      }
    }
    const authorization = `Bearer ${token}`;
    expect(await askHolder(url, {})).toBe(401);
    expect(await askHolder(url, { authorization: "Bearer 1234" })).toBe(401);
    expect(await askHolder(url, { authorization, host: "evil.example:80" })).toBe(403);
    expect(await askHolder(url, { authorization, origin: "http://evil.example" })).toBe(403);
    expect(sessionToken).not.toBe("");
    expect(await askHolder(url, { authorization: `Bearer ${sessionToken}` })).toBe(403);
    first.release();
    await second.held();
    expect(await askHolder(url, { authorization: `Bearer ${sessionToken}` })).toBe(401);
    second.release();
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    const refused = eventsOf(ended).flatMap((event) => (event.type === "door-refused" ? [event.why] : []));
    expect(refused).toEqual([
      "no token",
      "a wrong token",
      "the request names another host",
      "the request comes from another site",
      "a session may not steer the run",
      expect.stringContaining("a stale token"),
    ]);
    expect(eventsOf(ended).some(isType("run-held"))).toBe(false);
    expect(JSON.stringify(eventsOf(ended))).not.toContain(token);
  });
});
