/** Files that are there whole or not at all. */
import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export interface WriteOptions {
  /** Of a new file; the mode of what was there stays. */
  mode?: number;
  /** Where the draft is made, on the same file system: a crash must not leave it where it would be taken for work. */
  draftIn?: string;
}

/** Writes it as a draft and renames it to its place; a link stays a link. */
export function writeWhole(path: string, content: string, { mode = 0o666, draftIn }: WriteOptions = {}): void {
  const before = statSync(path, { throwIfNoEntry: false });
  const place = before === undefined ? path : realpathSync(path);
  const draft = join(draftIn ?? dirname(place), `.${basename(place)}.${process.pid}.part`);
  const fd = openSync(draft, "w", before?.mode ?? mode);
  try {
    writeFileSync(fd, content);
    fsyncSync(fd);
    closeSync(fd);
    renameSync(draft, place);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
