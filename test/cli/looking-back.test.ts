/** `runs`, `logs`, `report`, `watch` without a terminal: what was run here, and what happened. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { SAMPLE, SAMPLE_QUESTION, sampleFacts, writeSample } from "../support/sample-run.js";
import { scratchFolder, scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

const EVIL = "</script><script>alert(1)</script> | **bold** <b>x</b>";

async function sample() {
  const facts = sampleFacts();
  const [first] = facts;
  if (first?.type !== "run-started") throw new Error("no start");
  const plan = { ...first.plan, title: `Rewrite ${EVIL}` };
  const place = await site({ repo: scratchRepo({}) });
  await writeSample(place.repo, [
    { ...first, plan },
    ...facts.slice(1),
    SAMPLE_QUESTION,
    { type: "run-stopped", why: "asked to stop" },
  ]);
  return (...args: string[]) => place.segno(args).ended;
}

describe.concurrent("looking back", () => {
  test("runs lists them, for people and for machines", async () => {
    const segno = await sample();
    const listed = await segno("runs");
    expect(listed.stdout).toMatch(new RegExp(`${SAMPLE}.*stopped +1/4 +3\\.3M +\\$1\\.23`));
    const [row] = JSON.parse((await segno("runs", "--json")).stdout);
    expect(row).toMatchObject({ run: SAMPLE, status: "stopped", live: false, phases: { done: 1, total: 4 } });
  });

  test("logs: a line per event, of one phase, as events; --follow ends with the run", async () => {
    const segno = await sample();
    const all = (await segno("logs", "--follow")).stdout.trim().split("\n");
    expect(all.at(-1)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*run stopped/);
    const one = (await segno("logs", SAMPLE, "--phase", "1")).stdout;
    expect(one).toContain("Read src/part-0.ts");
    expect(one).not.toContain("Finished 2.1");
    const events = (await segno("logs", "--json")).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).type);
    expect(events[0]).toBe("run-started");
    expect((await segno("watch")).stdout).toContain("run stopped");
  });

  test("report: Markdown in which nothing of the plan is markup, JSON, and one file of HTML", async () => {
    const segno = await sample();
    const { stdout } = await segno("report");
    expect(stdout).toMatch(/^# Rewrite \\<\/script\\>/);
    expect(stdout).toMatch(/\| 2 The new pipeline \| stopped \| 5\/9 \| 3 \| 2 \| .*[▁▂▃▄▅▆▇█]/);
    const json = JSON.parse((await segno("report", "--json")).stdout);
    expect(json.marks.filter((mark: { kind: string }) => mark.kind === "handover")).toHaveLength(2);
    expect(json.spent.calls).toBe(40);
    const file = join(scratchFolder(), "run.html");
    expect((await segno("report", "--html", file)).stdout).toContain(file);
    const html = readFileSync(file, "utf8");
    expect(html).not.toContain("<script>alert(1)");
    expect(html).toContain("<title>Rewrite &lt;/script&gt;");
    expect(html).toMatch(/script-src 'sha256-/);
    // Neither a link nor an address to load anything from.
    expect(html).not.toMatch(/<(link|img|iframe|script)[^>]+(src|href)=/);
    const nowhere = await segno("report", "--html", "/no/such/folder/x.html");
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("cannot be written")]);
  });

  test("run --detach: it goes on by itself, and what keeps it from beginning is said here", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    const begun = await place.segno(["run", "PLAN.md", "--detach"]).ended;
    expect([begun.code, begun.stdout]).toEqual([0, expect.stringContaining("goes on in the background")]);
    const logs = await place.segno(["logs", "--follow"]).ended;
    expect(logs.stdout).toContain("run completed");
    const again = await place.segno(["run", "NOWHERE.md", "--detach"]).ended;
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("NOWHERE.md")]);
  });

  test("what is wrong is said", async () => {
    const segno = await sample();
    for (const command of ["logs", "report", "watch", "dashboard"]) {
      const ended = await segno(command, "no-such-run");
      expect([command, ended.code]).toEqual([command, 2]);
      expect(ended.stderr).toContain("no-such-run");
    }
    const port = await segno("dashboard", "--port", "99999");
    expect([port.code, port.stderr]).toEqual([2, expect.stringContaining("99999 is no port")]);
  });
});
