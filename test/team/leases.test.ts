/** Who holds something works on it, or gives it up: nothing is held for ever, and nothing is torn away that need not be. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { offerOrphans } from "../../src/team/orphans.js";
import { eventually } from "../support/eventually.js";
import { whyNoPostgres } from "../support/postgres.js";
import { teamOfOne } from "../support/team-of-one.js";

const slowly =
  (ms: number) =>
  (answers: Behaviour): Behaviour =>
  async (request) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return answers(request);
  };

describe.skipIf(whyNoPostgres() !== undefined)("a lease", () => {
  test("of what cannot be begun is not kept: it is said, and begun when it can be", async () => {
    const { machine, said, done, workUntilOver } = await teamOfOne([{ id: "1", tasks: 2 }]);
    const inTheWay = ["conductor.git", "work"].map((name) => join(machine.folder, name));
    mkdirSync(machine.folder, { recursive: true });
    for (const place of inTheWay) writeFileSync(place, "");
    const over = workUntilOver();
    for (const [n, what] of ["conducting", "phase 1"].entries()) {
      await eventually(`${what} cannot be begun`, () =>
        said.some((line) => line.startsWith(what) && line.includes("takes nothing new")),
      );
      rmSync(inTheWay[n] ?? "");
    }
    await over;
    expect(done).toEqual(["1/1.1", "1/1.2"]);
  });

  test("that has grown old changes at a boundary, with a checkpoint: no task is done twice", async () => {
    const { events, done, said, workUntilOver } = await teamOfOne([{ id: "1", tasks: 8 }], {
      longestLeaseMs: 3_000,
      behave: slowly(500),
    });
    await workUntilOver();
    expect(done, said.join("\n")).toEqual(Array.from({ length: 8 }, (_, n) => `1/1.${n + 1}`));
    const of = (type: string) => events.filter((event) => event.type === type);
    expect(of("phase-taken").length).toBeGreaterThan(1);
    expect(of("run-taken").length).toBeGreaterThan(1);
    expect(of("checkpoint-saved").length).toBeGreaterThan(0);
    expect(of("phase-let-go")[0]).toMatchObject({ why: "its lease has grown old" });
  });

  test("of the only worker there is, which ends: a checkpoint is written before it does", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 6 }], { behave: slowly(150) });
    const first = await team.workUntil("a task is done", (events) =>
      events.some(({ type }) => type === "progress-reported"),
    );
    const types = first.map(({ type }) => type);
    expect(types).toContain("checkpoint-saved");
    expect(types.indexOf("checkpoint-saved")).toBeLessThan(types.lastIndexOf("phase-let-go"));
    await team.workUntil("it is over", (events) => events.some(({ type }) => type === "run-completed"));
    expect(team.said.filter((line) => line.includes("takes nothing new"))).toEqual([]);
    expect(team.done).toHaveLength(6);
  });

  test("of a run that was recorded and never offered, or resumed while its conductor ended: a worker offers it", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 2 }]);
    const { queues } = team.machine;
    const ended = async (): Promise<void> => {
      const job = await queues.take(await queues.within("runs", { agents: [], labels: [] }));
      if (job !== undefined) await queues.finish(job);
    };
    expect(await offerOrphans(team.machine)).toEqual([]);
    await ended();
    await team.workUntil("a task is done", (events) => events.some(({ type }) => type === "progress-reported"));
    expect(team.said).toContain(`nobody conducts ${team.run}: it is offered again`);
    await team.ask("stop");
    await team.workUntil("it has stopped", async () => (await queues.runsOffered()).length === 0);
    expect((await team.read()).at(-1)?.type).toBe("run-stopped");
    expect(await offerOrphans(team.machine)).toEqual([]);
    await team.resume();
    await ended();
    // Whoever is just beginning it offers it himself.
    expect(await offerOrphans(team.machine)).toEqual([]);
    expect(await offerOrphans(team.machine, 0)).toEqual([team.run]);
    await team.workUntil("it is over", (events) => events.some(({ type }) => type === "run-completed"));
    expect(new Set(team.done)).toEqual(new Set(["1/1.1", "1/1.2"]));
    expect(await team.machine.store.openRuns([])).toEqual([]);
  });
});
