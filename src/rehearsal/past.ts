/** Rehearsals that are over: each leaves its clone to look at, and the next one takes the oldest away. */
import { existsSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STAGE_PREFIX } from "./stage.js";

/** How many are kept beside the one that begins. */
const KEPT = 2;

/** Repositories of this user's rehearsals, newest first. */
export function pastRehearsals(): { folder: string; repository: string; at: Date }[] {
  const uid = process.getuid?.();
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(STAGE_PREFIX))
    .flatMap((name) => {
      const folder = join(tmpdir(), name);
      const found = lstatSync(folder, { throwIfNoEntry: false });
      const repository = join(folder, "repository");
      if (found?.isDirectory() !== true || found.uid !== uid || !existsSync(join(repository, ".git", "segno", "runs")))
        return [];
      return [{ folder, repository, at: found.mtime }];
    })
    .sort((a, b) => b.at.getTime() - a.at.getTime());
}

/** Takes away all but the newest; `isHeld` says which are still going on. */
export async function removeOldRehearsals(isHeld: (repository: string) => Promise<boolean>): Promise<void> {
  for (const { folder, repository } of pastRehearsals().slice(KEPT))
    if (!(await isHeld(repository))) rmSync(folder, { recursive: true, force: true });
}
