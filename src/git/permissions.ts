/** Files of the checkout that git could not read any more. */
import { chmodSync, lstatSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "./git.js";
import type { OpenFiles } from "./open-files.js";

const READ = 0o400;
const ENTER = 0o700;

/** Makes what changed readable again, where it is ours; its names. */
export function makeReadable(git: Git, { untracked, modified, closed }: OpenFiles): string[] {
  const paths = new Set([...untracked, ...modified, ...closed]);
  const mended: string[] = [];
  const mend = (path: string): void => {
    const full = join(git.top, path);
    const found = statOf(full);
    const wanted = found?.isDirectory() === true ? ENTER : READ;
    if (found === undefined || found.isSymbolicLink() || (found.mode & wanted) === wanted) return;
    if (found.uid !== process.getuid?.() && process.getuid?.() !== 0) return;
    chmodSync(full, (found.mode & 0o777) | (found.isDirectory() ? ENTER : READ | 0o200));
    mended.push(path);
  };
  for (const path of paths) {
    // From the top down: what is in a closed folder cannot even be looked at.
    const parts = path.replace(/\/$/, "").split("/");
    for (let depth = 1; depth <= parts.length; depth++) mend(parts.slice(0, depth).join("/"));
  }
  return [...new Set(mended)];
}

function statOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
