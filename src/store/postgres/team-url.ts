/**
 * Where a team's database is, as its users write it. What is said there is in a file that everyone may read, and in the list
 * of processes: so it holds no password. Across a network the line is encrypted and the server proves who it is, or there
 * is none.
 */

export interface TeamUrl {
  host: string;
  port: number;
  database: string;
  user: string;
  /** Whether the line is encrypted and the server's certificate checked; off only where nothing leaves the machine. */
  verified: boolean;
  /** Who vouches for the server, where that is not one of the usual ones: a file. */
  ca: string | undefined;
}

export type UrlProblem =
  | { type: "no-url" }
  | { type: "scheme"; scheme: string }
  /** The user's name is enough. */
  | { type: "password" }
  | { type: "incomplete"; what: "host" | "database" | "user" }
  /** What was asked for, where only `verify-full` will do. */
  | { type: "unverified"; host: string; sslmode: string | undefined }
  | { type: "unknown"; key: string };

export type ReadUrl = { ok: true; url: TeamUrl } | { ok: false; problem: UrlProblem };

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;
const KNOWN = new Set(["sslmode", "sslrootcert"]);

export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

export function readTeamUrl(text: string): ReadUrl {
  const bad = (problem: UrlProblem): ReadUrl => ({ ok: false, problem });
  let url: URL;
  let database: string;
  let user: string;
  try {
    url = new URL(text);
    database = decodeURIComponent(url.pathname.slice(1));
    user = decodeURIComponent(url.username);
  } catch {
    return bad({ type: "no-url" });
  }
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:")
    return bad({ type: "scheme", scheme: url.protocol.slice(0, -1) });
  // Also as a parameter: whoever reads the URL would read it.
  if (url.password !== "" || url.searchParams.has("password")) return bad({ type: "password" });
  for (const key of url.searchParams.keys()) if (!KNOWN.has(key)) return bad({ type: "unknown", key });
  const host = url.hostname;
  if (host === "") return bad({ type: "incomplete", what: "host" });
  if (database === "") return bad({ type: "incomplete", what: "database" });
  if (user === "") return bad({ type: "incomplete", what: "user" });
  const sslmode = url.searchParams.get("sslmode") ?? undefined;
  const verified = sslmode === "verify-full";
  // Anything less either encrypts nothing, or whatever answers.
  if (!verified && !(isLoopback(host) && (sslmode === undefined || sslmode === "disable")))
    return bad({ type: "unverified", host, sslmode });
  const port = url.port === "" ? 5432 : Number(url.port);
  const ca = url.searchParams.get("sslrootcert") ?? undefined;
  return { ok: true, url: { host, port, database, user, verified, ca } };
}
