/**
 * A team's password: from a file that only its user can read (named by a flag, or by SEGNO_TEAM_PASSWORD_FILE), from ~/.pgpass,
 * or asked for. Never from an argument or a variable.
 */
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { bad, good, type Result } from "../engine/failure.js";
import type { TeamUrl } from "../store/postgres/team-url.js";
import { EXIT } from "./exit.js";

/** Empty where there is none: some servers want none. */
export async function teamPassword(url: TeamUrl, flag: string | undefined, asks: boolean): Promise<Result<string>> {
  const file = flag ?? (process.env.SEGNO_TEAM_PASSWORD_FILE || undefined);
  if (file !== undefined) {
    const read = readClosed(file);
    return read.ok ? good(read.value.split(/\r?\n/)[0] ?? "") : read;
  }
  const pgpass = join(process.env.HOME ?? homedir(), ".pgpass");
  const known = isThere(pgpass) ? readClosed(pgpass) : undefined;
  if (known !== undefined && !known.ok) return known;
  const found = known === undefined ? undefined : passwordIn(known.value, url);
  if (found !== undefined) return good(found);
  return good(asks ? await askPassword(`Password of ${url.user} at ${url.host}: `) : "");
}

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

function readClosed(path: string): Result<string> {
  const refuse = (what: string, fix: string): Result<never> => bad({ type: "usage", what, fix });
  try {
    if ((statSync(path).mode & 0o077) !== 0)
      return refuse(`${path} holds a password, and others can read it.`, `chmod 600 ${path}`);
    return good(readFileSync(path, "utf8"));
  } catch (error) {
    return refuse(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      "Name a file that holds the password, readable by you alone.",
    );
  }
}

/** `host:port:database:user:password`, `*` for any, a backslash before what is meant as it is. */
export function passwordIn(text: string, { host, port, database, user }: TeamUrl): string | undefined {
  const wanted = [host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const fields = line.match(/(?:\\.|[^:\\])*(?::|$)/g)?.map((field) => field.replace(/:$/, "")) ?? [];
    const plain = fields.map((field) => field.replaceAll(/\\(.)/g, "$1"));
    if (fields.length >= 5 && wanted.every((want, n) => fields[n] === "*" || plain[n] === want)) return plain[4];
  }
  return undefined;
}

/** Nothing of it is shown. Whoever leaves it without an answer leaves the command. */
function askPassword(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stderr.write(question);
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  return new Promise((resolve) => {
    let isAnswered = false;
    terminal.question("", (answer) => {
      isAnswered = true;
      process.stderr.write("\n");
      resolve(answer);
      terminal.close();
    });
    terminal.on("close", () => {
      if (!isAnswered) process.exit(EXIT.interrupted);
    });
  });
}
