/** A check that a project has of its own, and where it was found. */
export interface FoundCheck {
  /** What it is called as a gate. */
  name: string;
  command: string;
  /** The file it was found in, with a line where it has one. */
  where: string;
  /**
   * Whether it may be run without being asked for: tests, types and lint that a manifest names. What stands in workflows
   * and texts may deploy, publish or never end: it is shown, and run when somebody wrote it down as a gate.
   */
  safe: boolean;
}

/** Reads a file of the project by its path from the top level, or lists those below a folder. */
export interface ProjectFiles {
  read(path: string): string | undefined;
  /** Also what is no text. */
  exists(path: string): boolean;
  list(folder: string): string[];
}

export const lineOf = (text: string, part: RegExp): number =>
  text.slice(0, Math.max(0, text.search(part))).split("\n").length;
