/** Files that are there whole or not at all. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

export interface WriteOptions {
  /** Of a new file; the mode of what was there stays. */
  mode?: number;
  /** Where the draft is made if it can be: a crash must not leave it where it would be taken for work. */
  draftIn?: string;
}

/** Writes it as a draft and renames it to its place; a link stays a link. */
export function writeWhole(path: string, content: string | Buffer, { mode = 0o666, draftIn }: WriteOptions = {}): void {
  const before = statSync(path, { throwIfNoEntry: false });
  const place = before === undefined ? path : realpathSync(path);
  const write = (folder: string): void => {
    const draft = join(folder, `.${basename(place)}.${process.pid}.part`);
    try {
      const fd = openSync(draft, "w", mode);
      try {
        if (before !== undefined) fchmodSync(fd, before.mode & 0o7777);
        writeFileSync(fd, content);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      renameSync(draft, place);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  };
  if (draftIn === undefined) return write(dirname(place));
  try {
    write(draftIn);
  } catch (error) {
    // It is on another file system, or under another mount: nothing can be renamed across.
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    write(dirname(place));
  }
}
