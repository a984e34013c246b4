import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export type Files = Record<string, string>;

const undo: (() => unknown)[] = [];

/** Undone when the file's last test is over: tests of one file may run at the same time. */
export const whenOver = (step: () => unknown): void => void undo.push(step);

export async function cleanUp(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

/** A folder that is gone when the tests are over. */
export function scratchFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "segno-test-")));
  whenOver(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** A git repository with these files committed. */
export function scratchRepo(files: Files): string {
  const folder = scratchFolder();
  writeFiles(folder, { "README.md": "# Test\n", ...files });
  git(folder, "init", "--quiet");
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "-m", "start");
  return folder;
}

export const git = (folder: string, ...args: string[]): string =>
  execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).replace(/\n$/, "");
