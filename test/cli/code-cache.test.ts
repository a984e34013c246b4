import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { CodeCache } from "../../src/cli/code-cache.js";
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

const segno = (args: string[], env: NodeJS.ProcessEnv = {}): string =>
  execFileSync(process.execPath, [join(installed, "dist/cli/main.js"), ...args], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, ...env },
    encoding: "utf8",
  });

/** What is kept in a folder, and when each file came there. */
const kept = (folder: string): [file: string, ino: number][] =>
  readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((file) => [file, statSync(file).ino]);

const beside = (): string => join(installed, "dist/code-cache");

test("a second command answers like the first, with what the first kept beside the program", () => {
  const first = segno(["config"]);
  const before = kept(beside());
  expect(before.length).toBeGreaterThan(5);
  expect(segno(["config"])).toBe(first);
  // Nothing was made anew: it was read.
  expect(kept(beside())).toEqual(before);
});

test.each([
  ["nonsense", () => Buffer.from("nonsense")],
  ["nothing", () => Buffer.alloc(0)],
  ["the same, with some bytes in its middle turned round", (whole: Buffer) => turned(whole)],
])("what is damaged is not used, and made anew: %s", (_, damaged) => {
  const first = segno(["config"]);
  const all = kept(beside());
  for (const [file] of all) writeFileSync(file, damaged(readFileSync(file)));
  expect(segno(["config"])).toBe(first);
  for (const [n, [file, ino]] of kept(beside()).entries()) {
    expect(file).toBe(all[n]?.[0]);
    expect(ino).not.toBe(all[n]?.[1]);
  }
});

function turned(whole: Buffer): Buffer {
  const middle = Math.floor(whole.length / 2);
  for (let n = middle; n < Math.min(middle + 64, whole.length); n++) whole[n] = (whole[n] as number) ^ 0xff;
  return whole;
}

test("a program that is changed, to the same length, does what it says now", () => {
  segno(["--help"]);
  const program = join(installed, "dist/cli/program.js");
  const text = readFileSync(program, "utf8");
  expect(text).toContain("Exit codes: 0 all phases done");
  writeFileSync(program, text.replace("Exit codes: 0 all phases done", "Exit codes: 0 ALL PHASES DONE"));
  expect(segno(["--help"])).toContain("ALL PHASES DONE");
});

test("where the program's folder takes nothing, the user's own cache does; where none does, it works all the same", () => {
  // A file where the folder would be: root may write anywhere.
  writeFileSync(beside(), "");
  const first = segno(["config"]);
  const before = kept(join(home, ".cache/segno"));
  expect(before.length).toBeGreaterThan(5);
  expect(segno(["config"])).toBe(first);
  expect(kept(join(home, ".cache/segno"))).toEqual(before);
  rmSync(join(home, ".cache"), { recursive: true });
  writeFileSync(join(home, ".cache"), "");
  expect(segno(["config"])).toBe(first);
});

test("a folder that others can write is neither read nor written", () => {
  segno(["config"]);
  const [folder] = readdirSync(beside());
  const all = kept(beside());
  chmodSync(join(beside(), folder as string), 0o777);
  // What V8 refuses it would say; what is not looked at cannot harm.
  for (const [file] of all) writeFileSync(file, "planted");
  segno(["config"]);
  for (const [file] of all) expect(readFileSync(file, "utf8")).toBe("planted");
  expect(kept(join(home, ".cache/segno")).length).toBe(all.length);
});

test.each([
  ["an empty", ""],
  ["a relative", "cache"],
])("%s XDG_CACHE_HOME never means the folder where the command is called", (_, XDG_CACHE_HOME) => {
  writeFileSync(beside(), "");
  segno(["config"], { XDG_CACHE_HOME });
  expect(readdirSync(home).filter((name) => name !== ".cache")).toEqual([]);
});

test("under other flags what is kept stays as it is", () => {
  segno(["config"]);
  const before = kept(beside());
  segno(["config"], { NODE_OPTIONS: "--stack-trace-limit=50 --max-old-space-size=500" });
  expect(kept(beside())).toEqual(before);
});

test("a file that cannot be loaded now can be later", () => {
  const cache = new CodeCache(installed);
  const file = join(installed, "late.js");
  expect(() => cache.load(file)).toThrow("ENOENT");
  writeFileSync(file, "exports.there = true;");
  expect(cache.load(file)).toEqual({ there: true });
});
