/** Where git keeps what belongs to a checkout, and what all checkouts of the repository share. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { Git } from "./git.js";

export interface GitPlaces {
  /** The git directory of the checkout, and what all checkouts of the repository share. */
  own: string;
  common: string;
}

/** Undefined where there is no checkout. */
export function gitPlaces(top: string): GitPlaces | undefined {
  const path = join(top, ".git");
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const named = found.isDirectory() ? path : /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1]?.trim();
  if (named === undefined) return undefined;
  const own = resolve(top, named);
  const common = textOf(join(own, "commondir"))?.trim();
  return { own, common: common === undefined ? own : resolve(own, common) };
}

/** The top level of the checkout that a folder is in; git itself is asked only where it is not plain to see. */
export async function topOf(folder: string): Promise<string | undefined> {
  const seen = plainTop(folder);
  if (seen !== undefined) return seen;
  const asked = await new Git(folder).attempt(["rev-parse", "--show-toplevel"]);
  return asked.ok ? asked.stdout.trim() : undefined;
}

function plainTop(folder: string): string | undefined {
  const start = realpathSync(folder);
  const isElsewhere = Object.keys(process.env).some((name) => name.startsWith("GIT_DIR") || name === "GIT_WORK_TREE");
  if (isElsewhere || start.split(sep).includes(".git")) return undefined;
  for (let at = start; ; at = dirname(at)) {
    const places = gitPlaces(at);
    if (places !== undefined) return isPlain(at, places) ? at : undefined;
    if (at === dirname(at)) return undefined;
  }
}

/** A repository of ours whose configuration does not say that its files are elsewhere. */
const isPlain = (top: string, { own, common }: GitPlaces): boolean =>
  statSync(top).uid === process.getuid?.() &&
  existsSync(join(own, "HEAD")) &&
  existsSync(join(common, "objects")) &&
  !/^\s*(?:worktree|bare\s*=\s*true)/m.test(textOf(join(common, "config")) ?? "worktree");

/** A file of the checkout's own git directory; git itself is asked only where its environment says something else. */
export async function ownPath(git: Git, name: string): Promise<string> {
  const isElsewhere = process.env.GIT_DIR !== undefined || process.env.GIT_INDEX_FILE !== undefined;
  const places = isElsewhere ? undefined : gitPlaces(git.top);
  if (places !== undefined) return join(places.own, name);
  return resolve(git.top, await git.line(["rev-parse", "--git-path", name]));
}

export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
