/** The store of a team, held to the same contract as the others, and to its own promises, with a real PostgreSQL. */
import type { ClientConfig } from "pg";
import { describe, expect, test } from "vitest";
import type { Fact, RunEvent } from "../../src/run/event.js";
import { connectTeam } from "../../src/store/postgres/connect.js";
import { Database } from "../../src/store/postgres/database.js";
import { LeaseLost } from "../../src/store/postgres/journal.js";
import { PROTOCOL } from "../../src/store/postgres/schema.js";
import { PgStore } from "../../src/store/postgres/store.js";
import type { TeamUrl } from "../../src/store/postgres/team-url.js";
import { cutLine } from "../support/cut-line.js";
import { asOwner, PASSWORD, postgres, teamDatabase, VIEWER, WORKER, whyNoPostgres } from "../support/postgres.js";
import { whenOver } from "../support/scratch.js";
import {
  eventsIn,
  lease,
  numbers,
  opened,
  RUN,
  sharedStoreContract,
  storeContract,
  warned,
} from "../support/store-contract.js";

const observed: Fact = { type: "tool-refused", phase: "1", attempt: 1, session: "s", tool: "t", why: "w" };

async function storeOf(config: ClientConfig, worker = "w"): Promise<PgStore> {
  const database = await Database.open(config);
  whenOver(() => database.close());
  return new PgStore(database, { repo: "r", worker });
}

async function store(now?: () => Date): Promise<PgStore> {
  const config = await teamDatabase();
  if (now !== undefined) await tickAs(config, now);
  return storeOf(config);
}

/** The database's clock shows these moments, one after the other, and then the last. */
async function tickAs(config: ClientConfig, now: () => Date): Promise<void> {
  const moments = Array.from({ length: 3 }, () => `'${now().toISOString()}'::timestamptz`).join(", ");
  await asOwner(
    config,
    `CREATE SEQUENCE segno.ticks;
     CREATE OR REPLACE FUNCTION segno.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS
     $$ SELECT (ARRAY[${moments}])[least(nextval('segno.ticks'), 3)] $$`,
  );
}

const why = whyNoPostgres();
const describePg = describe.skipIf(why !== undefined);
if (why === undefined) {
  storeContract("PostgreSQL", store);
  sharedStoreContract("PostgreSQL", () => store());
} else test.skip(`PostgreSQL cannot be run here: ${why}`, () => {});

describePg("many machines", () => {
  test("under a lease that somebody took since, nothing is written, not even what was on its way", async () => {
    const config = await teamDatabase();
    const [mine, theirs] = [await storeOf(config, "a"), await storeOf(config, "b")];
    const old = await mine.create(RUN, lease);
    old.append([warned(1)]);
    await old.flush();
    const taken = await opened(theirs, 2);
    old.append([warned(2)]);
    await expect(old.flush()).rejects.toThrow(LeaseLost);
    expect(() => old.append([warned(3)])).toThrow(LeaseLost);
    await expect(old.submit([warned(3)], () => {})).rejects.toThrow(LeaseLost);
    await expect(opened(mine, 1)).rejects.toThrow(LeaseLost);
    await taken.submit([warned(4)], () => {});
    expect((await eventsIn(theirs)).map(({ epoch }) => epoch)).toEqual([1, 2]);
    await taken.close();
  });

  test("a commit whose answer was lost is sent again, and is one event", async () => {
    const config = await teamDatabase();
    const line = await cutLine(config.port as number);
    const far = await storeOf({ ...config, port: line.port });
    const journal = await far.create(RUN, lease);
    await journal.submit([warned(1)], () => {});
    line.loseNextAnswer();
    const taken: RunEvent[] = [];
    await journal.submit([warned(2)], (events) => taken.push(...events));
    expect(line.lost).toBe(1);
    expect(numbers(taken)).toEqual([2]);
    line.loseNextAnswer();
    journal.append([warned(3), warned(4)]);
    await journal.flush();
    expect(numbers(await eventsIn(far))).toEqual([1, 2, 3, 4]);
    await journal.close();
  });

  test("while the line is cut nothing is lost, and all of it is there when it is mended", async () => {
    const config = await teamDatabase();
    const line = await cutLine(config.port as number);
    const far = await storeOf({ ...config, port: line.port });
    const journal = await far.create(RUN, lease);
    line.cut();
    for (let n = 1; n <= 20; n++) journal.append([warned(n)]);
    const ref = journal.putBlob("said while nobody heard it");
    const kept = journal.flush();
    line.mend();
    await kept;
    const near = await storeOf(config);
    expect(numbers(await eventsIn(near))).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    expect(await near.getBlob(RUN, ref)).toBe("said while nobody heard it");
    await journal.close();
  });

  test("what was merely observed elsewhere does not overtake a decision; it is handed over before it", async () => {
    const config = await teamDatabase();
    const [mine, theirs] = [await storeOf(config, "a"), await storeOf(config, "b")];
    const conductor = await mine.create(RUN, lease);
    await conductor.submit([warned(1)], () => {});
    const worker = await opened(theirs, 1);
    worker.append([observed, observed]);
    await worker.flush();
    const seen: number[] = [];
    conductor.onOthers((events) => seen.push(...numbers(events)));
    const decided = await conductor.submit([warned(2)], (events) => seen.push(...numbers(events)), { after: 1 });
    expect(decided).toEqual({ ok: true });
    expect(seen).toEqual([2, 3, 4]);
    worker.append([warned(3)]);
    await worker.flush();
    expect(await conductor.submit([warned(4)], () => {}, { after: 4 })).toEqual({ ok: false });
    expect(seen).toEqual([2, 3, 4, 5]);
    for (const journal of [conductor, worker]) await journal.close();
  });

  test("forty writers at once: no number is missing, none is there twice, and whoever watches sees each once", async () => {
    const config = await teamDatabase();
    const first = await storeOf(config);
    const journals = [await first.create(RUN, lease)];
    const seen: number[] = [];
    const watching = await first.watch(RUN, (events) => seen.push(...numbers(events)));
    for (let n = 1; n < 40; n++) journals.push(await opened(await storeOf(config, `w${n}`), 1));
    for (let round = 0; round < 10; round++) for (const journal of journals) journal.append([warned(round)]);
    await Promise.all(journals.map((journal) => journal.flush()));
    const all = Array.from({ length: 400 }, (_, n) => n + 1);
    expect(numbers(await eventsIn(first))).toEqual(all);
    await expect.poll(() => seen.length).toBe(400);
    expect(seen).toEqual(all);
    watching.stop();
    await Promise.all(journals.map((journal) => journal.close()));
  });

  test("any text is kept as it is, also what PostgreSQL's own JSON refuses", async () => {
    const odd = await store();
    const journal = await odd.create(RUN, lease);
    const message = "a\u0000b \\u0000 \ud800 “ü” 😀";
    journal.append([{ type: "warned", message }]);
    await journal.close();
    expect(await eventsIn(odd)).toMatchObject([{ message }]);
  });

  test("events of a newer Segno are refused in words", async () => {
    const config = await teamDatabase();
    const own = await storeOf(config);
    const journal = await own.create(RUN, lease);
    await journal.submit([warned(1)], () => {});
    await asOwner(config, "UPDATE segno.events SET body = replace(body, '\"v\":2', '\"v\":99')");
    expect(await own.read(RUN)).toMatchObject({ ok: false, why: expect.stringContaining("a newer Segno wrote it") });
    await journal.close();
  });

  test("the tables know which protocol they are for; a database without them has none", async () => {
    const config = await teamDatabase();
    const own = await Database.open(config);
    whenOver(() => own.close());
    expect(await own.protocol()).toBe(PROTOCOL);
    const bare = await Database.open({ ...config, database: "postgres" });
    whenOver(() => bare.close());
    expect(await bare.protocol()).toBeUndefined();
  });
});

describePg("the line", () => {
  const urlOf = (config: ClientConfig, host: string, rest: Partial<TeamUrl>): TeamUrl => ({
    host,
    port: config.port as number,
    database: config.database as string,
    user: "owner",
    verified: true,
    ca: undefined,
    ...rest,
  });

  test("is encrypted, to a server that proves who it is", async () => {
    const config = await teamDatabase();
    const { ca } = await postgres();
    const database = await connectTeam(urlOf(config, "localhost", { ca }), () => PASSWORD);
    expect(await database.protocol()).toBe(PROTOCOL);
    expect(database.where).not.toContain(PASSWORD);
    await database.close();
  });

  test("is not made to a server for whom nobody vouches, or that is another", async () => {
    const config = await teamDatabase();
    const { ca } = await postgres();
    const unknown = connectTeam(urlOf(config, "localhost", {}), () => PASSWORD);
    await expect(unknown).rejects.toThrow(/unable to verify|self-signed|unable to get/);
    const other = connectTeam(urlOf(config, "127.0.0.1", { ca }), () => PASSWORD);
    await expect(other).rejects.toThrow(/not in the cert|altnames|IP/);
  });

  test("is what the URL says, whatever stands in the environment", async () => {
    const config = await teamDatabase();
    const env = { PGSSLMODE: "disable", PGPASSWORD: "another", PGHOST: "db.team.invalid" };
    Object.assign(process.env, env);
    try {
      const { ca } = await postgres();
      const database = await connectTeam(urlOf(config, "localhost", { ca }), () => PASSWORD);
      expect(await database.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).toEqual([{ ssl: true }]);
      await database.close();
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
    }
  });
});

describePg("roles", () => {
  /** What happens to somebody who has only this role. */
  const as = (role: string, sql: string) => async (config: ClientConfig) => asOwner(config, `SET ROLE ${role}; ${sql}`);

  test.each([
    ["a worker", WORKER, "UPDATE segno.events SET body = '{}'"],
    ["a worker", WORKER, "DELETE FROM segno.runs"],
    ["a worker", WORKER, "INSERT INTO segno.events VALUES ('r', 99, '', '', 1, '{}')"],
    ["a worker", WORKER, "UPDATE segno.leases SET epoch = 99"],
    ["a worker", WORKER, "SELECT segno.remove_run('r')"],
    ["a worker", WORKER, "CREATE TABLE segno.mine ()"],
    ["a worker", WORKER, "SELECT * FROM other.secret"],
    ["a viewer", VIEWER, "SELECT segno.append('r', NULL, '', 1, false, gen_random_uuid(), 1, '{}', '{}')"],
    ["a viewer", VIEWER, "SELECT segno.take_lease('r', '', 9, 'me')"],
    ["a viewer", VIEWER, "SELECT segno.put_blob('r', 'h', 'x')"],
  ])("%s cannot: %s, %s", async (_, role, sql) => {
    const config = await teamDatabase();
    await asOwner(config, "CREATE SCHEMA other; CREATE TABLE other.secret (x int)");
    await expect(as(role, sql)(config)).rejects.toThrow("permission denied");
  });

  test("a worker writes, a viewer reads", async () => {
    const config = await teamDatabase();
    await asOwner(
      config,
      `CREATE ROLE anna LOGIN PASSWORD 'anna-and-her-password' IN ROLE ${WORKER};
       CREATE ROLE otto LOGIN PASSWORD 'otto-and-his-password' IN ROLE ${VIEWER}`,
    );
    const anna = await storeOf({ ...config, user: "anna", password: "anna-and-her-password" });
    const journal = await anna.create(RUN, lease);
    await journal.submit([warned(1)], () => {});
    await journal.close();
    const otto = await storeOf({ ...config, user: "otto", password: "otto-and-his-password" });
    expect(numbers(await eventsIn(otto))).toEqual([1]);
    await expect(opened(otto, 2)).rejects.toThrow("permission denied");
  });
});
