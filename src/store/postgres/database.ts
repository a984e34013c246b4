/** A team's database as the store sees it: questions with answers, and who is told when a run goes on. */
import type { Client, ClientConfig, Pool } from "pg";
import { CHANNEL, PROTOCOL } from "./schema.js";

const POLL_MS = 1_000;
const MOST_CONNECTIONS = 3;
export const CONNECT_MS = 5_000;
/** An answer that takes longer does not come any more: the line is cut without a word. */
export const ANSWER_MS = 10_000;

/** It could not be asked, or its answer was lost: the same question may be answered later. */
export class LineLost extends Error {
  override readonly name = "LineLost";
  readonly where: string;

  constructor(where: string, cause: Error) {
    super(cause.message, { cause });
    this.where = where;
  }
}

export class Database {
  readonly #pool: Pool;
  readonly #config: ClientConfig;
  readonly #newClient: () => Client;
  readonly #listeners = new Map<string, Set<() => void>>();
  #listening: Client | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(pool: Pool, config: ClientConfig, newClient: () => Client) {
    this.#pool = pool;
    this.#config = config;
    this.#newClient = newClient;
    // One that is idle may lose its line; whoever asks next is told.
    pool.on("error", () => {});
  }

  /** `pg` is loaded only here. */
  static async open(config: ClientConfig): Promise<Database> {
    const { default: pg } = await import("pg");
    const whole: ClientConfig = {
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      application_name: "segno",
      ...config,
    };
    return new Database(
      new pg.Pool({ ...whole, max: MOST_CONNECTIONS, allowExitOnIdle: true }),
      whole,
      () => new pg.Client(whole),
    );
  }

  async query<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    try {
      const { rows } = await this.#pool.query(sql, values);
      return rows as Row[];
    } catch (error) {
      throw isLineLost(error) ? new LineLost(this.where, error) : error;
    }
  }

  /** Which protocol the tables are made for; undefined where there are none. */
  async protocol(): Promise<number | undefined> {
    const [there] = await this.query<{ there: boolean }>("SELECT to_regclass('segno.protocol') IS NOT NULL AS there");
    if (there?.there !== true) return undefined;
    const [row] = await this.query<{ number: number }>("SELECT number FROM segno.protocol");
    return row?.number ?? PROTOCOL;
  }

  /** Called when the run may have gone on: at once where the database says so, and from time to time all the same. */
  listen(run: string, wake: () => void): () => void {
    const all = this.#listeners.get(run) ?? new Set();
    this.#listeners.set(run, all.add(wake));
    // Whoever listens is waiting, and stays.
    this.#timer ??= setInterval(() => this.#look(), POLL_MS);
    if (this.#listening === undefined) void this.#beginToListen();
    return () => {
      all.delete(wake);
      if (all.size === 0) this.#listeners.delete(run);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
      // A process that has nothing more to hear may end.
      this.#listening?.end().catch(() => {});
      this.#listening = undefined;
    };
  }

  #look(): void {
    if (this.#listening === undefined) void this.#beginToListen();
    for (const all of this.#listeners.values()) for (const wake of all) wake();
  }

  async #beginToListen(): Promise<void> {
    const client = this.#newClient();
    this.#listening = client;
    const lost = (): void => {
      if (this.#listening === client) this.#listening = undefined;
    };
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", ({ payload = "" }) => {
      for (const wake of this.#listeners.get(payload) ?? []) wake();
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      if (this.#listening !== client) await client.end();
    } catch {
      // Looking from time to time is enough until it can be reached again.
      lost();
      client.end().catch(() => {});
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const listening = this.#listening;
    this.#listening = undefined;
    await Promise.all([listening?.end().catch(() => {}), this.#pool.end()]);
  }

  /** Where it is, without anything secret. */
  get where(): string {
    const { host = "localhost", port = 5432, database = "" } = this.#config;
    return `postgres://${host}:${port}/${database}`;
  }
}

const LOST = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT"],
  ...["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN", "ENOTFOUND", "EAI_AGAIN"],
]);
/**
 * PostgreSQL's own errors that pass: connections, somebody who was in the way, a server that shuts down, starts or only
 * follows another, no room for more.
 */
const PASSING = /^(08|40|57P|53|25006)/;
const WORDS = /terminated|timeout|Connection ended|not queryable/i;

/** Whether the same question may be answered later. */
export function isLineLost(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof LineLost) return true;
  const code = "code" in error ? String(error.code) : "";
  return LOST.has(code) || PASSING.test(code) || (code === "" && WORDS.test(error.message));
}
