/** Files of a checkout that its index does not have as they are: new, changed, or not to be read. One listing for all who look. */
import type { Git } from "./git.js";

export interface OpenFiles {
  untracked: string[];
  modified: string[];
  /** Folders that cannot be entered: git names them only in what it says of them. */
  closed: string[];
}

export async function openFiles(git: Git): Promise<OpenFiles> {
  const { stdout, stderr } = await git.attempt([
    "ls-files",
    "-z",
    "-t",
    "--others",
    "--modified",
    "--exclude-standard",
  ]);
  const listed = stdout.split("\0").filter((line) => line !== "");
  const of = (isUntracked: boolean): string[] =>
    listed.filter((line) => line.startsWith("? ") === isUntracked).map((line) => line.slice(2));
  const closed = [...stderr.matchAll(/could not open directory '(.+?)\/?'/g)].flatMap(([, folder]) => folder ?? []);
  return { untracked: of(true), modified: of(false), closed };
}
