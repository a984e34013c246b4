/**
 * Where runs live on one machine: in the git directory, where no clean, reset, stash or branch switch reaches, and which
 * all checkouts of a repository share. Nobody outside this folder knows.
 */
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

export interface Places {
  /** What all checkouts of the repository share: runs, what was learned. */
  shared: string;
  /** What belongs to this checkout alone: who works in it. */
  own: string;
  /** Where a run goes on when its place can no longer be written. */
  refuge: string;
}

export function placesOf(top: string, env: NodeJS.ProcessEnv = process.env): Places {
  const own = gitFolder(top);
  // A folder that is no checkout keeps its runs itself.
  if (own === undefined) return { ...at(join(top, ".segno"), env), own: join(top, ".segno") };
  return { ...at(join(commonFolder(own), "segno"), env), own: join(own, "segno") };
}

const at = (shared: string, env: NodeJS.ProcessEnv): Pick<Places, "shared" | "refuge"> => {
  const state = env.XDG_STATE_HOME ?? join(env.HOME ?? homedir(), ".local", "state");
  const name = createHash("sha256").update(shared).digest("hex").slice(0, 16);
  return { shared, refuge: join(state, "segno", "moved", name) };
};

/** The git directory of a checkout: a worktree has a file that names it. */
function gitFolder(top: string): string | undefined {
  const path = join(top, ".git");
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isDirectory()) return path;
  const named = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
  return named === undefined ? undefined : resolve(top, named.trim());
}

function commonFolder(own: string): string {
  const path = join(own, "commondir");
  return existsSync(path) ? resolve(own, readFileSync(path, "utf8").trim()) : own;
}

export const runsIn = (shared: string): string => join(shared, "runs");

export const journalPath = (folder: string): string => join(folder, "journal.jsonl");

/**
 * Version 0.1 kept runs in the working tree. They are moved over once; what is there already, and what somebody still
 * holds, stays as it is.
 */
export function moveOldRuns(top: string, shared: string, isHeld: (folder: string) => boolean): void {
  const old = join(top, ".segno", "runs");
  if (join(top, ".segno") === shared || lstatSync(old, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  const moved = (name: string, from: string, to: string): void => {
    if (existsSync(to) || isHeld(from)) return;
    mkdirSync(dirname(to), { recursive: true });
    try {
      renameSync(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
      // The git directory is on another file system: whole, or not at all.
      const draft = join(dirname(to), `.${name}.part`);
      cpSync(from, draft, { recursive: true, preserveTimestamps: true });
      renameSync(draft, to);
      rmSync(from, { recursive: true, force: true });
    }
  };
  for (const name of readdirSync(old)) moved(name, join(old, name), join(runsIn(shared), name));
  const learned = join(top, ".segno", "learned.json");
  if (existsSync(learned)) moved("learned.json", learned, join(shared, "learned.json"));
  if (readdirSync(old).length === 0) rmSync(old, { recursive: true });
}
