/** A worker that starts while the line to the database is bad begins all the same; one that has none says so, and ends. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { whyNoPostgres } from "../support/postgres.js";
import { teamSite } from "../support/team.js";

const AWAY = /database at 127\.0\.0\.1:\d+ cannot be reached/;

describe.skipIf(whyNoPostgres() !== undefined)("a worker", () => {
  test("begins, whichever answer of the database is lost meanwhile", async () => {
    const team = await teamSite({ phases: [{ id: "1" }] });
    let waited = 0;
    for (let n = 0, lost = 1; lost > 0; n++) {
      const machine = await team.machine(`w${n}`);
      machine.line.loseNextAnswer(n);
      const worker = await team.worker(machine);
      expect(worker.said()).not.toMatch(/\n\s+at /);
      if (AWAY.test(worker.said())) waited++;
      worker.kill("SIGKILL");
      await worker.ended;
      ({ lost } = machine.line);
    }
    expect(waited).toBeGreaterThan(4);
  });

  test("waits for a database that is not there yet", async () => {
    const team = await teamSite({ phases: [{ id: "1" }] });
    const machine = await team.machine("a");
    machine.line.cut();
    const begins = team.worker(machine);
    await sleep(1_500);
    machine.line.mend();
    expect((await begins).said()).toMatch(AWAY);
  });

  test("and whoever looks are told in words that there is none, with a code of its own", async () => {
    const team = await teamSite({ phases: [{ id: "1" }] });
    const { clone, env, line } = await team.machine("a");
    line.cut();
    const looked = await team.segno(["team", "status"], { cwd: clone, env }).ended;
    expect([looked.code, looked.stderr]).toEqual([75, expect.stringMatching(AWAY)]);
    const worked = await team.segno(["worker"], { cwd: clone, env }).ended;
    expect([worked.code, worked.stderr.match(AWAY)?.length]).toEqual([75, 1]);
    expect(worked.stderr).not.toMatch(/\n\s+at /);
  });
});
