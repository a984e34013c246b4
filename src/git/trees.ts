/**
 * The working tree as a git tree, through a private index: what the user staged stays as it is, `.gitignore` is
 * respected, and nothing is written but objects.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Git } from "./git.js";
import { ownPath } from "./places.js";

/** A private index that starts as a copy of the user's, for its stat cache: unchanged files need not be read again. */
export async function withPrivateIndex<T>(git: Git, use: (index: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "segno-index-"));
  const index = join(folder, "index");
  try {
    const own = await ownPath(git, "index");
    if (existsSync(own)) copyIndex(own, index);
    return await use(index);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * With its time: git counts in seconds, and reads a file again whose time is not older than the index. A younger copy
 * would hide a change of the same size in the second of the checkout.
 */
function copyIndex(own: string, index: string): void {
  const { atime, mtime } = statSync(own);
  copyFileSync(own, index);
  utimesSync(index, atime, mtime);
}

/** Everything that is there now, but for what is ignored and Segno's own folder. */
export function snapshotTree(git: Git): Promise<string> {
  return withPrivateIndex(git, async (index) => {
    await git.raw(["add", "--all", "--", "."], { index });
    return git.line(["write-tree"], { index });
  });
}

/** Segno's own folder, or the way to it in a worktree. */
export const isSegnoPath = (path: string): boolean => path === ".segno" || path.startsWith(".segno/");

export interface TreeChange {
  path: string;
  /** Added, modified, deleted or its type changed. */
  kind: "A" | "M" | "D" | "T";
  mode: string;
  blob: string;
}

/** A change as `update-index --index-info` wants it. */
export const entryLine = ({ kind, mode, blob, path }: TreeChange): string =>
  kind === "D" ? `0 ${"0".repeat(40)}\t${path}\0` : `${mode} ${blob}\t${path}\0`;

/** What differs between two trees, renames as a deletion and an addition. */
export async function treeChanges(git: Git, from: string, to: string): Promise<TreeChange[]> {
  const parts = await git.nulSeparated(["diff-tree", "-r", "-z", "--no-renames", "--raw", from, to]);
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode, , blob, kind] = (parts[at] as string).split(" ");
    changes.push({
      path: parts[at + 1] as string,
      kind: (kind ?? "M")[0] as TreeChange["kind"],
      mode: mode ?? "",
      blob: blob ?? "",
    });
  }
  return changes;
}

/** Files as a commit or tree has them; those it does not have are left out. */
export async function filesAt(git: Git, tree: string, paths: readonly string[]): Promise<Map<string, string>> {
  const contents = await git.contents(paths.map((path) => `${tree}:${path}`));
  const found = paths.map((path, n) => [path, contents[n]] as const);
  return new Map(found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** These paths as a tree has them, as `update-index --index-info` wants it. */
export async function entriesIn(git: Git, tree: string, paths: readonly string[]): Promise<string> {
  const listed = new Map(
    (await git.nulSeparated(["ls-tree", "-r", "-z", tree])).map((line) => {
      const [entry = "", path = ""] = line.split("\t");
      const [mode = "", , blob = ""] = entry.split(" ");
      return [path, { mode, blob }] as const;
    }),
  );
  return paths
    .map((path) => {
      const entry = listed.get(path);
      return entry === undefined ? `0 ${"0".repeat(40)}\t${path}\0` : `${entry.mode} ${entry.blob}\t${path}\0`;
    })
    .join("");
}

/** A tree with these paths as another has them. */
export const treeWith = (
  git: Git,
  tree: string,
  { from, paths }: { from: string; paths: readonly string[] },
): Promise<string> =>
  withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", tree], { index });
    await git.raw(["update-index", "-z", "--index-info"], { index, input: await entriesIn(git, from, paths) });
    return git.line(["write-tree"], { index });
  });
