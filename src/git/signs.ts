/**
 * What git looks like from its files alone: cheap enough for a look between any two calls of a model. Where a repository
 * keeps its references in another way nothing is seen here, and git itself is asked later.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { gitPlaces, textOf } from "./places.js";

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

/** Whether anything may be stashed: only where that is a file it can be known without asking git. */
export const hasStash = (top: string): boolean => {
  const places = gitPlaces(top);
  return places === undefined || !hasLooseRefs(top) || existsSync(join(places.common, "logs/refs/stash"));
};

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
