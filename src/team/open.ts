/** A team's database with all that stands on it. What it needs beside Segno is loaded only here. */
import type { ClientConfig } from "pg";
import { ANSWER_MS, CONNECT_MS, Database } from "../store/postgres/database.js";
import { PgStore } from "../store/postgres/store.js";
import { BOSS_SCHEMA, Queues } from "./queues.js";

export interface OpenTeam {
  database: Database;
  store: PgStore;
  queues: Queues;
  close(): Promise<void>;
}

export interface OpenOptions {
  repo: string;
  worker: string;
  /** Sees to it that a lease without a sign of life goes to somebody else: workers do. */
  supervises: boolean;
  /** Makes the tables of the queue: only its owner, once. */
  migrates?: boolean;
}

export async function openTeam(config: ClientConfig, options: OpenOptions): Promise<OpenTeam> {
  const { PgBoss } = await import("pg-boss");
  const { host, port, user, database: name, ssl, password } = config;
  const database = await Database.open(config);
  const boss = new PgBoss({
    ...{ host, port, user, ssl, schema: BOSS_SCHEMA, max: 2, application_name: "segno" },
    // A line that falls silent is as lost as one that is cut.
    ...{ query_timeout: ANSWER_MS, connectionTimeoutMillis: CONNECT_MS, keepAlive: true },
    ...(name === undefined ? {} : { database: name }),
    ...(password === undefined ? {} : { password: password as string }),
    migrate: options.migrates === true,
    createSchema: options.migrates === true,
    supervise: options.supervises,
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    schedule: false,
  } as ConstructorParameters<typeof PgBoss>[0]);
  // A line that is cut: whoever asks next is told.
  boss.on("error", () => {});
  await boss.start();
  const queues = new Queues(boss, options.repo);
  return {
    database,
    store: new PgStore(database, { repo: options.repo, worker: options.worker }),
    queues,
    close: async () => {
      await boss.stop({ graceful: false, close: true }).catch(() => {});
      await database.close();
    },
  };
}
