/** The index of a checkout: one that was deleted or written over is made anew, as its newest commit is. */
import { closeSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "./git.js";
import { gitPlaces } from "./places.js";

const SIGNATURE = "DIRC";

/** Whether that had to be done: what was staged there and nowhere else is not staged any more. */
export async function remakeIndex(git: Git): Promise<boolean> {
  const places = gitPlaces(git.top);
  if (places === undefined) return false;
  const path = join(places.own, "index");
  if (isIndex(path)) return false;
  rmSync(path, { force: true });
  return (await git.attempt(["read-tree", "HEAD"])).ok;
}

function isIndex(path: string): boolean {
  try {
    const file = openSync(path, "r");
    const head = Buffer.alloc(SIGNATURE.length);
    readSync(file, head, 0, head.length, 0);
    closeSync(file);
    return head.toString("latin1") === SIGNATURE;
  } catch {
    return false;
  }
}
