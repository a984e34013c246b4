/** Makes a database a team's, once: tables, functions, queues, and two roles beside the owner. */
import type { ClientConfig } from "pg";
import type { Database } from "../store/postgres/database.js";
import { PROTOCOL, rolesOf, SCHEMA } from "../store/postgres/schema.js";
import { openTeam } from "./open.js";

export const WORKER_ROLE = "segno_worker";
export const VIEWER_ROLE = "segno_viewer";

export type Initialised = { type: "made" } | { type: "there" } | { type: "other-protocol"; protocol: number };

export async function initTeam(database: Database, config: ClientConfig): Promise<Initialised> {
  const protocol = await database.protocol();
  if (protocol !== undefined && protocol !== PROTOCOL) return { type: "other-protocol", protocol };
  if (protocol === undefined) await database.query(SCHEMA);
  const team = await openTeam(config, { repo: "init", worker: "init", supervises: false, migrates: true });
  await team.close();
  await database.query(rolesOf(WORKER_ROLE, VIEWER_ROLE));
  return { type: protocol === undefined ? "made" : "there" };
}
