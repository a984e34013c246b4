/** The same engine on the store of a team: a run in this process whose journal is in a real PostgreSQL. */
import { describe, expect, test } from "vitest";
import { evolve } from "../../src/run/evolve.js";
import type { RunState } from "../../src/run/state.js";
import { Database } from "../../src/store/postgres/database.js";
import { PgStore } from "../../src/store/postgres/store.js";
import type { Store } from "../../src/store/store.js";
import { cutLine } from "../support/cut-line.js";
import { planFiles } from "../support/plans.js";
import { teamDatabase, whyNoPostgres } from "../support/postgres.js";
import { rehearse } from "../support/rehearsal.js";
import { git, scratchRepo, whenOver } from "../support/scratch.js";
import { isThorough } from "../support/thorough.js";

const PHASES = ["1", "2", "3"].map((id) => ({ id, tasks: 2, gates: [`test -f out/${id}-2.txt`] }));
const LAST = { id: "4", dependsOn: ["1", "2", "3"], gates: ["test $(ls out | wc -l) -eq 7"] };

async function storeAt(port?: (real: number) => Promise<number>): Promise<Store> {
  const config = await teamDatabase();
  const own = port === undefined ? config : { ...config, port: await port(config.port as number) };
  const database = await Database.open(own);
  whenOver(() => database.close());
  return new PgStore(database, { repo: "r", worker: "w" });
}

const folded = async (store: Store, run: string): Promise<RunState | undefined> => {
  const read = await store.read(run);
  if (!read.ok) throw new Error(read.why);
  return read.events.reduce<RunState | undefined>((state, event) => evolve(state, event), undefined);
};

describe.skipIf(!isThorough || whyNoPostgres() !== undefined)("a run whose journal is in PostgreSQL", () => {
  test("does all its phases, at once where it may, and the journal folds to what its conductor knew", async () => {
    const store = await storeAt();
    const repo = scratchRepo(planFiles([...PHASES, LAST]));
    const run = await rehearse({ repo, store, config: { parallel: 3 } });
    expect(run.status).toBe("completed");
    expect(run.done.toSorted()).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2", "3/3.1", "3/3.2", "4/4.1"]);
    expect(git(repo, "ls-files", "out").split("\n")).toHaveLength(7);
    expect(git(repo, "show", "HEAD:PLAN.md")).not.toContain("Pending");
    const state = await folded(store, run.held.run.state.run);
    expect(state?.status).toBe("completed");
    expect([...(state?.phases ?? [])].map(([id, { step }]) => [id, step])).toEqual(
      [...run.held.run.state.phases].map(([id, { step }]) => [id, step]),
    );
    expect(state?.seq).toBe(run.events.length);
  });

  test("goes on when its line is cut in the middle and answers are lost: every task once", async () => {
    const lines: Awaited<ReturnType<typeof cutLine>>[] = [];
    const store = await storeAt(async (real) => {
      const line = await cutLine(real);
      lines.push(line);
      return line.port;
    });
    const [line] = lines;
    const repo = scratchRepo(planFiles(PHASES));
    let tools = 0;
    const run = await rehearse({
      repo,
      store,
      onEvent: (event) => {
        if (event.type !== "tool-finished") return;
        if (++tools % 2 === 0) line?.loseNextAnswer();
        else {
          line?.cut();
          setTimeout(() => line?.mend(), 100);
        }
      },
    });
    expect(run.status).toBe("completed");
    expect(line?.lost).toBeGreaterThan(2);
    expect(run.done).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2", "3/3.1", "3/3.2"]);
    const read = await store.read(run.held.run.state.run);
    expect(read.events.map(({ seq }) => seq)).toEqual(read.events.map((_, n) => n + 1));
    expect(read.events.filter(({ type }) => type === "phase-done")).toHaveLength(3);
  });
});
