/** Reaching a team's database as its URL says: nothing of the environment is asked, and the line is what was promised. */
import { readFileSync } from "node:fs";
import type { ClientConfig } from "pg";
import { Database } from "./database.js";
import type { TeamUrl } from "./team-url.js";

/** The line is not encrypted, although that was asked for: whoever answered is not trusted with anything. */
export class NotEncrypted extends Error {
  override readonly name = "NotEncrypted";
}

/** `password`: asked for whenever a connection is made; it is never part of what is written or shown. */
export async function connectTeam(url: TeamUrl, password: () => string | Promise<string>): Promise<Database> {
  const database = await Database.open(clientConfig(url, password));
  if (!url.verified) return database;
  try {
    const [line] = await database.query<{ ssl: boolean }>("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    if (line?.ssl !== true) throw new NotEncrypted(`the line to ${url.host} is not encrypted`);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** How a client of it is made; nothing in it is meant for eyes. */
export function clientConfig(
  { host, port, database, user, verified, ca }: TeamUrl,
  password: () => string | Promise<string>,
) {
  const trusted = ca === undefined ? {} : { ca: readFileSync(ca, "utf8") };
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port,
    database,
    user,
    password,
    // Said outright: where nothing is said, variables of the environment would count.
    ssl: verified ? { rejectUnauthorized: true, ...trusted } : false,
  } satisfies ClientConfig;
}
