/** `segno forecast`, `segno answer` and the context report, as a user calls them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

describe.concurrent("forecast", () => {
  test("says what each phase needs, learns from the first run, and shows forecast against truth", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 3 }])) });
    const before = JSON.parse((await place.segno(["forecast", "PLAN.md", "--json"]).ended).stdout);
    expect(before).toMatchObject({ samples: 0, phases: [{ phase: "1", sessions: 1 }], total: { sessions: 1 } });
    const ran = await place.segno(["run", "PLAN.md"]).ended;
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(/~ forecast: about 1 sessions, .* \(from general figures\)/);
    expect(ran.stdout).toMatch(/context: system and tools \d+k? \(\d+ %\), prompts/);
    expect(ran.stdout).toMatch(/prompt budget: \d+ of 7500 tokens used \(\d+ %\), \d+ left/);
    expect(ran.stdout).toMatch(/so far: 1 sessions, 0 handovers/);
    expect(ran.stdout).toMatch(/Forecast against truth:\n {2}phase 1: 1 sessions \(expected 1\)/);
    expect(existsSync(join(place.repo, ".git/segno/learned.json"))).toBe(true);
    const after = JSON.parse((await place.segno(["forecast", "PLAN.md", "--force", "--json"]).ended).stdout);
    expect(after.samples).toBe(1);
    expect(after.total.tokens).toBeLessThan(before.total.tokens / 2);
    const words = await place.segno(["forecast", "PLAN.md", "--force"]).ended;
    expect(words.stdout).toContain("From 1 earlier phases in this repository.");
  });

  test("warns of a phase that is too large, and proposes where to split it", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 20 }])) });
    const { stdout, code } = await place.segno(["forecast", "PLAN.md"]).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/! Phase 1 is expected to need 19\d % .* It could be split into \d: 1\.1 to 1\.\d/);
  });
});

describe.concurrent("answer", () => {
  test("from another terminal: status lists the question, a wrong answer is explained, the right one lets the run go on", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 6 }])), charsPerTask: 9_000 });
    const env = { SEGNO_CONTEXT_POLICY: "ask", SEGNO_CONTEXT_LIMIT: "45000" };
    const running = place.segno(["run", "PLAN.md", "--json"], { env });
    const asked = await running.event((event) => event.type === "question-asked");
    expect(asked).toMatchObject({ kind: "before-phase" });
    const status = await place.segno(["status"]).ended;
    expect(status.stdout).toMatch(
      /\? phase 1: Phase 1 is expected to need [\s\S]*\n {2}1 {2}continue [\s\S]*when nobody answers: stop/,
    );
    expect(JSON.parse((await place.segno(["status", "--json"]).ended).stdout).questions).toHaveLength(1);
    const wrong = await place.segno(["answer", "maybe"]).ended;
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('"maybe" is no answer to what is asked (1: continue, stop, force, rest)');
    expect((await place.segno(["answer", "1/a1/before/e1", "f"]).ended).code).toBe(0);
    expect((await running.ended).code).toBe(0);
    expect(place.done).toHaveLength(6);
    expect((await place.segno(["answer", "c"]).ended).stderr).toContain("nothing is asked");
  });

  test("stopped at a question: a resume asks it again", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 3 }])) });
    const env = { SEGNO_CONTEXT_POLICY: "ask", SEGNO_CONTEXT_LIMIT: "45000" };
    const running = place.segno(["run", "PLAN.md", "--json"], { env });
    await running.event((event) => event.type === "question-asked");
    await place.segno(["answer", "stop"]).ended;
    expect((await running.ended).code).toBe(3);
    const again = place.segno(["resume", "--json"], { env });
    await again.event((event) => event.type === "question-asked");
    await place.segno(["answer", "continue"]).ended;
    expect((await again.ended).code).toBe(0);
    expect(place.done).toHaveLength(3);
  });
});
