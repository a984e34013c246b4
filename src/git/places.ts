/** Where git keeps what belongs to a checkout, and what all checkouts of the repository share. */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Git } from "./git.js";

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
