/**
 * What git looks like from its files alone: cheap enough for a look between any two calls of a model. Where a repository
 * keeps its references in another way nothing is seen here, and git itself is asked later.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

export interface Signs {
  /** Whether the checkout is there at all. */
  there: boolean;
  /** What HEAD says: `ref: refs/heads/main`, or a commit. */
  head: string | undefined;
  /** The branch's newest commit; undefined where it is gone. */
  tip: string | undefined;
  /** The size of the list of stashes: it grows with each. */
  stashes: number;
}

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

export function readSigns(top: string, branch: string): Signs {
  const places = gitPlaces(top);
  if (places === undefined) return { there: false, head: undefined, tip: undefined, stashes: 0 };
  const { own, common } = places;
  return {
    there: true,
    head: textOf(join(own, "HEAD"))?.trim(),
    tip: textOf(join(common, "refs/heads", branch))?.trim() ?? packed(common, `refs/heads/${branch}`),
    stashes: statSync(join(common, "logs/refs/stash"), { throwIfNoEntry: false })?.size ?? 0,
  };
}

/** Whether references are files here, so that a missing one means something. */
export const hasLooseRefs = (top: string): boolean => {
  const places = gitPlaces(top);
  return places !== undefined && !existsSync(join(places.common, "reftable"));
};

function packed(common: string, ref: string): string | undefined {
  const line = textOf(join(common, "packed-refs"))
    ?.split("\n")
    .find((candidate) => candidate.endsWith(` ${ref}`));
  return line?.split(" ")[0];
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
