/** `.segno/team.yaml`: where a repository's team runs are kept, and by which remote its code travels. Meant to be committed. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse, stringify } from "yaml";
import { writeWhole } from "../store/atomic.js";
import { type ReadUrl, readTeamUrl, type TeamUrl, type UrlProblem } from "../store/postgres/team-url.js";

export interface TeamSettings {
  url: TeamUrl;
  /** As it was written; it holds no password. */
  database: string;
  /** What all clones of the repository call it. */
  repo: string;
  /** The name of a git remote, or its URL. */
  remote: string;
}

export type ReadSettings =
  | { type: "none" }
  | { type: "read"; settings: TeamSettings }
  | { type: "bad"; file: string; problem: UrlProblem | { type: "shape"; what: string } };

const FILE = join(".segno", "team.yaml");
const NAME = /^[\w-]+$/;
/** What all clones may call a repository. */
export const isName = (text: string): boolean => NAME.test(text);

export const teamFile = (top: string): string => join(top, FILE);

/** What this machine calls it otherwise: who it is there, or how the database is reached from here. */
export interface OwnWords {
  user: string | undefined;
  database: string | undefined;
}

export function readTeamSettings(top: string, own: OwnWords): ReadSettings {
  const path = teamFile(top);
  if (!existsSync(path)) return { type: "none" };
  const shape = (what: string): ReadSettings => ({ type: "bad", file: FILE, problem: { type: "shape", what } });
  let said: unknown;
  try {
    said = parse(readFileSync(path, "utf8"));
  } catch (error) {
    return shape(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error));
  }
  const { repo, remote = "origin", ...rest } = (said ?? {}) as Record<string, unknown>;
  const database = own.database ?? rest.database;
  if (typeof database !== "string") return shape("database is missing: a URL like postgres://user@host/db");
  if (typeof repo !== "string" || !isName(repo)) return shape("repo is missing, or no word: letters, digits and -");
  if (typeof remote !== "string") return shape("remote is no text: the name of a git remote");
  const read = urlOf(top, database, own.user);
  if (!read.ok) return { type: "bad", file: FILE, problem: read.problem };
  return { type: "read", settings: { url: read.url, database, repo, remote } };
}

/** A file that it names is meant from the repository's top, wherever in it somebody is. */
export function urlOf(top: string, database: string, user?: string): ReadUrl {
  const read = readTeamUrl(database);
  if (!read.ok) return read;
  const ca = read.url.ca === undefined ? undefined : resolve(top, read.url.ca);
  return { ok: true, url: { ...read.url, ca, user: user ?? read.url.user } };
}

const HEAD = `# Runs of the whole team: segno run PLAN.md --team, segno worker, segno team status. Commit this file; it holds no password.
# Passwords are in ~/.pgpass, or asked for. Whoever may work here runs commands on every worker.
`;

export function writeTeamSettings(top: string, { database, repo, remote }: Omit<TeamSettings, "url">): string {
  const path = teamFile(top);
  mkdirSync(dirname(path), { recursive: true });
  writeWhole(path, `${HEAD}${stringify({ database, repo, remote })}`);
  showInGit(dirname(path));
  return FILE;
}

const SHOWN = "!team.yaml";

/** Folders of earlier versions hide it. */
function showInGit(folder: string): void {
  const ignore = join(folder, ".gitignore");
  if (!existsSync(ignore)) return;
  const text = readFileSync(ignore, "utf8");
  if (text.split("\n").some((line) => line.trim() === SHOWN)) return;
  writeWhole(ignore, `${text.endsWith("\n") || text === "" ? text : `${text}\n`}${SHOWN}\n`);
}
