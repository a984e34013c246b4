/** Plan files of a checkout, by paths from its top level. Nothing outside it is ever read or written. */
import { existsSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import type { ReadPlanFile } from "../plan/model.js";

export interface PlanFiles {
  read: ReadPlanFile;
  write: (path: string, content: string) => void;
}

export function planFiles(top: string): PlanFiles {
  return {
    read: (path) => {
      const full = join(top, path);
      if (!existsSync(full) || !isInside(top, realpathSync(full)) || !statSync(full).isFile()) return undefined;
      return readFileSync(full, "utf8");
    },
    write: (path, content) => writeFileSync(join(top, path), content),
  };
}

export function isInside(top: string, path: string): boolean {
  const way = relative(top, path);
  return way !== "" && !way.startsWith(`..${sep}`) && way !== ".." && !isAbsolute(way);
}
