import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { call, message } from "../../src/rehearsal/reply.js";
import { userTexts } from "../../src/rehearsal/request.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

const CIRCLE = call("Bash", { command: "echo nothing new", description: "again" });

describe.concurrent("going round in circles", () => {
  test("the same call for ever: warned, handed over, put off, then the phase ends as stuck with its evidence and a handoff", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const run = await rehearse({
      repo,
      config: { stuck_backoff_seconds: 0.2 },
      behave: (request, worker) => {
        const asked = userTexts(request).at(-1) ?? "";
        if ((request.tools ?? []).length === 0 || asked.includes("mcp__segno__checkpoint` with"))
          return worker(request);
        return message(CIRCLE);
      },
    });
    expect(run.status).toBe("failed");
    const noticed = run.of("stuck-noticed");
    expect(noticed.map((event) => event.count)).toEqual([1, 2, 3]);
    expect(noticed[0]).toMatchObject({ kind: "repeated-call", evidence: expect.stringContaining("echo nothing new") });
    expect(run.of("session-ended").map((event) => event.reason)).toEqual(["stuck", "stuck"]);
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "stuck", recommendation: "split" });
    const second = run.of("session-started")[1];
    expect(Date.parse(second?.at ?? "") - Date.parse(noticed[1]?.at ?? "")).toBeGreaterThanOrEqual(200);
    expect(await run.held.run.getBlob(second?.prompt ?? "sha256:")).toContain("because it went round in circles");
    const handoff = readFileSync(join(repo, ".segno/HANDOFF.md"), "utf8");
    expect(parse(/^---\n([\s\S]*?)\n---/.exec(handoff)?.[1] ?? "")).toMatchObject({
      plan: "PLAN.md",
      phase: "1",
      failure_category: "stuck",
      recommendation: "split",
      tasks_completed: [],
      tasks_remaining: ["1.1", "1.2"],
      files_modified: [],
    });
  });

  test("a session between two handovers that leaves nothing is noticed; the phase's own limit still counts", async () => {
    let n = 0;
    const run = await rehearse({
      repo: scratchRepo(planFiles([{ id: "1", tasks: 2 }])),
      config: { context_limit: 34_000, context_soft: 100, stuck_backoff_seconds: 0, max_restarts: 9 },
      behave: (request, worker) => {
        const asked = userTexts(request).at(-1) ?? "";
        if ((request.tools ?? []).length === 0 || asked.includes("mcp__segno__checkpoint` with"))
          return worker(request);
        return message(call("Bash", { command: `seq ${n++} 2500`, description: "fill" }));
      },
    });
    expect(run.status).toBe("failed");
    expect(run.of("stuck-noticed").every((event) => event.kind === "empty-session")).toBe(true);
    expect(run.of("phase-failed")[0]).toMatchObject({ category: "stuck" });
  });
});

describe.concurrent("HANDOFF.md", () => {
  test("the next run of the plan goes on from it, says so, and removes it when the phase is done", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 4 }]));
    let circling = true;
    let begun = false;
    const place = await site({
      repo,
      behave: (request, worker) => {
        begun ||= JSON.stringify(request.messages).includes('"out/1-2.txt"');
        if (!circling || !begun || (request.tools ?? []).length === 0) return worker(request);
        const asked = userTexts(request).at(-1) ?? "";
        return asked.includes("mcp__segno__checkpoint` with") ? worker(request) : message(CIRCLE);
      },
    });
    const env = { SEGNO_STUCK_BACKOFF_SECONDS: "0", SEGNO_AUTO_COMMIT: "false" };
    const failed = await place.segno(["run", "PLAN.md"], { env }).ended;
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain("what is left is in .segno/HANDOFF.md");
    const front = parse(/^---\n([\s\S]*?)\n---/.exec(readFileSync(join(repo, ".segno/HANDOFF.md"), "utf8"))?.[1] ?? "");
    expect(front.tasks_completed.length).toBeGreaterThan(0);
    circling = false;
    const before = place.done.length;
    const again = await place.segno(["run", "PLAN.md", "--fresh"], { env }).ended;
    expect(again.code).toBe(0);
    expect(again.stdout).toContain("Phase 1 goes on from .segno/HANDOFF.md");
    for (const task of front.tasks_completed) expect(place.done.slice(before)).not.toContain(`1/${task}`);
    expect(existsSync(join(repo, ".segno/HANDOFF.md"))).toBe(false);
  });
});

describe.concurrent("prompt overrides", () => {
  test("a text under .segno/prompts takes the place of Segno's own; a wrong placeholder is an error with its position", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    const place = await site({ repo });
    mkdirSync(join(repo, ".segno/prompts"), { recursive: true });
    const file = join(repo, ".segno/prompts/work.md");
    writeFileSync(file, "MY OWN WORDS for {{phase_id}}\n\n{{plan}}\n{{rules}}\n{{pahse}}\n{{phase}}\n");
    const refused = await place.segno(["run", "PLAN.md"]).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(".segno/prompts/work.md:5:1");
    expect(refused.stderr).toContain("{{pahse}}");
    writeFileSync(file, "MY OWN WORDS for {{phase_id}}\n\n{{plan}}\n{{rules}}\n{{phase}}\n");
    const ran = await place.segno(["run", "PLAN.md"]).ended;
    expect(ran.code).toBe(0);
    const asked = place.exchanges.flatMap(({ request }) => userTexts(request));
    expect(asked.some((text) => text.startsWith("MY OWN WORDS for 1"))).toBe(true);
    writeFileSync(join(repo, ".segno/prompts/nonsense.md"), "x");
    expect((await place.segno(["run", "PLAN.md", "--force"]).ended).stderr).toContain(
      "There is no prompt named nonsense",
    );
    const status = await place.segno(["status", "--context"]).ended;
    expect(status.stdout).toMatch(
      /phase +share +permanent +phase text +metadata +transient +left out +pruning\n1 +7500 +\d+ +\d+ +0 +0 +0 +moderate/,
    );
  });
});
