/** The team of this repository, as the command line reaches it. What it needs beside Segno is loaded only here. */
import { bad, type Failure, good, type Result } from "../engine/failure.js";
import type { Git } from "../git/git.js";
import { findSecrets } from "../secrets/find.js";
import { type Redact, redactor } from "../secrets/redact.js";
import { clientConfig, connectTeam, NotEncrypted } from "../store/postgres/connect.js";
import { type Database, isLineLost } from "../store/postgres/database.js";
import { PROTOCOL } from "../store/postgres/schema.js";
import { PgStore } from "../store/postgres/store.js";
import type { TeamUrl, UrlProblem } from "../store/postgres/team-url.js";
import { type OpenTeam, openTeam } from "../team/open.js";
import { readTeamSettings, type TeamSettings, teamFile } from "../team/settings.js";
import { isTerminal } from "./ask.js";
import { teamPassword } from "./team-password.js";

export interface TeamFlags {
  passwordFile?: string;
  json?: boolean;
}

/** What this machine knows of it, before anything is asked there. */
export interface TeamHere {
  settings: TeamSettings;
  password: string;
  redact: Redact;
}

export interface Reached extends TeamHere {
  database: Database;
}

const INSTALL = "npm install -g pg@8.23.1 pg-boss@12.35.0";

const usage = (what: string, fix: string): Failure => ({ type: "usage", what, fix });

/** Undefined where none is set up. */
export function settingsHere(top: string): Result<TeamSettings | undefined> {
  const read = readTeamSettings(top, {
    user: process.env.SEGNO_TEAM_USER || undefined,
    database: process.env.SEGNO_TEAM_DATABASE || undefined,
  });
  if (read.type === "none") return good(undefined);
  if (read.type === "read") return good(read.settings);
  const { file, problem } = read;
  if (problem.type === "shape") return bad(usage(`${file}: ${problem.what}.`, `Correct ${file}, or: segno team init`));
  return bad(urlFailure(problem));
}

export async function teamHere(top: string, flags: TeamFlags): Promise<Result<TeamHere>> {
  const settings = settingsHere(top);
  if (!settings.ok) return settings;
  if (settings.value === undefined)
    return bad(
      usage(
        `No team is set up here: there is no ${teamFile(top)}.`,
        "segno team init postgres://user@host/db, once; then commit .segno/team.yaml",
      ),
    );
  const known = await passwordOf(settings.value.url, flags);
  return known.ok ? good({ settings: settings.value, ...known.value }) : known;
}

export async function reach(here: TeamHere): Promise<Result<Reached>> {
  const { url } = here.settings;
  const connected = await connect(url, here);
  if (!connected.ok) return connected;
  const database = connected.value;
  try {
    const protocol = await database.protocol();
    if (protocol === PROTOCOL) return good({ ...here, database });
    await database.close();
    return bad(protocol === undefined ? notMade(database) : otherProtocol(protocol));
  } catch (error) {
    await database.close();
    return bad(connectFailure(url, error, here.redact));
  }
}

export async function reachTeam(top: string, flags: TeamFlags): Promise<Result<Reached>> {
  const here = await teamHere(top, flags);
  return here.ok ? reach(here.value) : here;
}

const notMade = ({ where }: Database): Failure =>
  usage(`There are no tables of Segno's in ${where}.`, "Its owner makes them once: segno team init");

export const otherProtocol = (protocol: number): Failure =>
  usage(
    `The team's database speaks protocol ${protocol}, and this Segno ${PROTOCOL}.`,
    protocol > PROTOCOL
      ? "Install the Segno that the others have: segno team status on one of their machines says which."
      : "Use a database of its own for this version, or the Segno that the others have.",
  );

type Known = Pick<TeamHere, "password" | "redact">;

async function passwordOf(url: TeamUrl, flags: TeamFlags): Promise<Result<Known>> {
  const password = await teamPassword(url, flags.passwordFile, isTerminal(flags.json === true));
  if (!password.ok) return password;
  return good({ password: password.value, redact: redactor(process.env, [password.value]) });
}

async function connect(url: TeamUrl, { password, redact }: Known): Promise<Result<Database>> {
  try {
    const database = await connectTeam(url, () => password);
    await database.query("SELECT 1");
    return good(database);
  } catch (error) {
    return bad(connectFailure(url, error, redact));
  }
}

export async function reachDatabase(url: TeamUrl, flags: TeamFlags): Promise<Result<Known & { database: Database }>> {
  const known = await passwordOf(url, flags);
  if (!known.ok) return known;
  const connected = await connect(url, known.value);
  return connected.ok ? good({ ...known.value, database: connected.value }) : connected;
}

/** With its queues: for who starts runs, and for workers. */
export async function openTeamOf(
  { settings, database, password }: Reached,
  options: { worker: string; supervises: boolean },
): Promise<Result<OpenTeam>> {
  await database.close();
  const config = clientConfig(settings.url, () => password);
  try {
    return good(await openTeam(config, { repo: settings.repo, ...options }));
  } catch (error) {
    return bad(connectFailure(settings.url, error, redactor(process.env, [password])));
  }
}

/** `remote`: the name of one of the clone's remotes, or a URL itself. */
export async function remoteUrl(git: Git, remote: string): Promise<Result<string>> {
  if (/^-|[:/]/.test(remote)) return withoutSecret(remote);
  const found = await git.attempt(["remote", "get-url", remote]);
  if (found.ok) return withoutSecret(found.stdout.trim());
  return bad(
    usage(`This clone has no git remote ${remote}, by which the team's code travels.`, `git remote add ${remote} URL`),
  );
}

/** git itself shows a URL to whoever reads the list of processes. */
export async function withoutSecret(url: string): Promise<Result<string>> {
  // git would take it for one of its options, and some of those are commands to run.
  if (url.startsWith("-")) return bad(usage(`"${url}" is no git remote.`, "Correct remote in .segno/team.yaml."));
  if (!URL.canParse(url)) return good(url);
  const { protocol, host, pathname, username, password } = new URL(url);
  const isToken = username !== "" && protocol !== "ssh:" && (await findSecrets("url", url)).length > 0;
  if (password === "" && !isToken) return good(url);
  return bad(
    usage(
      `The URL of the git remote at ${host} holds a password or a token: every user of a machine, and every agent, can read it.`,
      `Leave it out (${protocol}//${host}${pathname}) and let git know it another way: ssh, or git config --global credential.helper store, which asks once and keeps it in ~/.git-credentials (chmod 600).`,
    ),
  );
}

export const storeOf = ({ settings, database }: Reached, worker: string): PgStore =>
  new PgStore(database, { repo: settings.repo, worker });

export function urlFailure(problem: UrlProblem): Failure {
  switch (problem.type) {
    case "no-url":
      return usage("That is no URL.", "Write it like postgres://user@host/db");
    case "scheme":
      return usage(`${problem.scheme}: is not PostgreSQL.`, "Write it like postgres://user@host/db");
    case "password":
      return usage(
        "The URL holds a password: every user of this machine can read it in the list of processes.",
        "Leave it out. It is asked for; or put host:port:database:user:password into ~/.pgpass (chmod 600). And change the one you just wrote.",
      );
    case "incomplete":
      return usage(`The URL names no ${problem.what}.`, "Write it like postgres://user@host/db");
    case "unverified":
      return usage(
        `The line to ${problem.host} would not be safe (sslmode=${problem.sslmode ?? "not given"}): whoever stands between could read it, or answer in its place.`,
        "Add ?sslmode=verify-full to the URL; with an authority of your own also &sslrootcert=FILE.",
      );
    case "unknown":
      return usage(`The URL says "${problem.key}", which means nothing here.`, "Known: sslmode, sslrootcert.");
    default:
      return problem satisfies never;
  }
}

/** PostgreSQL's word for it. */
export const mayNot = (error: unknown): boolean => (error as { code?: string }).code === "42501";

export function connectFailure(url: TeamUrl, error: unknown, redact: Redact): Failure {
  const { code = "", message = String(error) } = error as { code?: string; message?: string };
  const place = `${url.host}:${url.port}`;
  if (isLineLost(error)) return { type: "database-away", where: place, why: redact(message || code) };
  if (code === "ERR_MODULE_NOT_FOUND")
    return usage("Team runs need pg and pg-boss, which are not installed.", `${INSTALL}   (Node 20.19 or later)`);
  if (code === "28P01" || code === "28000" || /password/i.test(message))
    return usage(
      `${place} refuses ${url.user}: ${redact(message)}`,
      "Put host:port:database:user:password into ~/.pgpass (chmod 600), or name a file: SEGNO_TEAM_PASSWORD_FILE=… (chmod 600, too).",
    );
  if (code === "3D000") return usage(`There is no database ${url.database} at ${place}.`, `createdb ${url.database}`);
  if (mayNot(error))
    return usage(
      `${url.user} may not do that: ${redact(message)}`,
      "The database's owner runs segno team init; who works is let in with: GRANT segno_worker TO …",
    );
  if (/certificate|self-signed|altnames|issuer/i.test(message))
    return usage(
      `${place} does not prove who it is: ${redact(message)}`,
      "With an authority of your own add &sslrootcert=FILE to the URL; the certificate must be for the name that the URL has.",
    );
  if (error instanceof NotEncrypted) return usage(redact(message), "Switch TLS on in the server, and try again.");
  if (code === "ENOENT")
    return usage(`The authority's file cannot be read: ${redact(message)}`, "Correct sslrootcert.");
  return usage(
    `The team's database at ${place} cannot be reached: ${redact(message)}`,
    "Is it running, and reachable from here? Runs of this machine alone need none.",
  );
}
