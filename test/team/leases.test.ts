/** Who holds something works on it, or gives it up: nothing is held for ever, and nothing is torn away that need not be. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.js";
import { whyNoPostgres } from "../support/postgres.js";
import { teamOfOne } from "../support/team-of-one.js";

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
      longestLeaseMs: 1_200,
      behave: (answers) => async (request) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return answers(request);
      },
    });
    await workUntilOver();
    expect(done, said.join("\n")).toEqual(Array.from({ length: 8 }, (_, n) => `1/1.${n + 1}`));
    const of = (type: string) => events.filter((event) => event.type === type);
    expect(of("phase-taken").length).toBeGreaterThan(1);
    expect(of("run-taken").length).toBeGreaterThan(1);
    expect(of("checkpoint-saved").length).toBeGreaterThan(0);
    expect(of("phase-let-go")[0]).toMatchObject({ why: "its lease has grown old" });
  });
});
