import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, it } from "vitest";
import { scratchFolder } from "../support/scratch.js";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

/** A copy of the command line, as it was installed. */
let home: string;
let installed: string;

beforeEach(() => {
  home = scratchFolder();
  installed = scratchFolder();
  for (const part of ["cli", "agents", "package.json"])
    cpSync(join(DIST, part), join(installed, "dist", part), { recursive: true });
  writeFileSync(join(installed, "package.json"), '{ "version": "9.9.9" }');
});

const segno = (...args: string[]): string =>
  execFileSync(process.execPath, [join(installed, "dist/cli/main.js"), ...args], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home },
    encoding: "utf8",
  });

const kept = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

it("a second command answers like the first, with what the first kept beside the program", () => {
  const first = segno("config");
  const before = kept(join(installed, "dist/code-cache"));
  expect(before.length).toBeGreaterThan(5);
  expect(segno("config")).toBe(first);
  expect(kept(join(installed, "dist/code-cache"))).toEqual(before);
});

it("what is damaged, or of another program, is made anew", () => {
  const first = segno("config");
  const all = kept(join(installed, "dist/code-cache"));
  for (const file of all) writeFileSync(file, "nonsense");
  expect(segno("config")).toBe(first);
  for (const file of all) expect(readFileSync(file, "utf8")).not.toBe("nonsense");
});

it("a program that is changed, to the same length, does what it says now", () => {
  segno("--help");
  const main = join(installed, "dist/cli/program.js");
  const text = readFileSync(main, "utf8");
  expect(text).toContain("Exit codes: 0 all phases done");
  writeFileSync(main, text.replace("Exit codes: 0 all phases done", "Exit codes: 0 ALL PHASES DONE"));
  expect(segno("--help")).toContain("ALL PHASES DONE");
});

it("where the program's folder takes nothing, the user's own cache does; where none does, it works all the same", () => {
  // A file where the folder would be: root may write anywhere.
  writeFileSync(join(installed, "dist/code-cache"), "");
  const first = segno("config");
  expect(kept(join(home, ".cache/segno")).length).toBeGreaterThan(5);
  expect(segno("config")).toBe(first);
  rmSync(join(home, ".cache"), { recursive: true });
  writeFileSync(join(home, ".cache"), "");
  expect(segno("config")).toBe(first);
});
