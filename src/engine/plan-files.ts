/** Plan files of a checkout, by paths from its top level. Nothing outside it is ever read or written. */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import type { ReadPlanFile } from "../plan/model.js";
import { writeWhole } from "../store/atomic.js";
import { segnoFolder } from "./runs.js";

export interface PlanFiles {
  read: ReadPlanFile;
  write: (path: string, content: string) => void;
}

const LARGEST = 10 * 1024 * 1024;

export function planFiles(top: string): PlanFiles {
  return { read: reader(top), write: (path, content) => writeWhole(join(top, path), content, draftIn(top)) };
}

function reader(top: string): ReadPlanFile {
  const read: ReadPlanFile = (path) => {
    const full = join(top, path);
    if (!existsSync(full)) return undefined;
    if (!isInside(top, realpathSync(full))) return { problem: "It is a link that leads out of the repository." };
    const stat = statSync(full);
    const { size } = stat;
    if (!stat.isFile()) return { problem: "It is not a file." };
    if (size > LARGEST) return { problem: `It has ${Math.round(size / 1e6)} MB; a plan may have 10.` };
    return decode(readFileSync(full));
  };
  read.list = (folder) => filesBelow(top, folder);
  return read;
}

/** More than any plan stands beside. */
const MOST_LISTED = 2_000;

function filesBelow(top: string, folder: string): string[] {
  const full = join(top, folder);
  if (folder !== "" && !isInside(top, full)) return [];
  if (statSync(full, { throwIfNoEntry: false })?.isDirectory() !== true || !isWithin(top, realpathSync(full)))
    return [];
  return readdirSync(full, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .slice(0, MOST_LISTED)
    .map((entry) => relative(top, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

const isWithin = (top: string, path: string): boolean =>
  path === realpathSync(top) || isInside(realpathSync(top), path);

/** Where nothing is taken for somebody's work; the plan's own folder where that is not there. */
const draftIn = (top: string) => (existsSync(segnoFolder(top)) ? { draftIn: segnoFolder(top) } : {});

/** Marks are written back byte for byte, so only text that survives decoding can be a plan. */
function decode(bytes: Buffer): string | { problem: string } {
  if (bytes.includes(0)) return { problem: "It is a binary file." };
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { problem: "It is not valid UTF-8." };
  }
}

export function isInside(top: string, path: string): boolean {
  const way = relative(top, path);
  return way !== "" && !way.startsWith(`..${sep}`) && way !== ".." && !isAbsolute(way);
}
