/** The rooms of ARCHITECTURE.md: what its table says about imports is so, in every file and every way to import. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../src/", import.meta.url));
const table = readFileSync(new URL("../ARCHITECTURE.md", import.meta.url), "utf8");

interface Room {
  name: string;
  /** Undefined: all of them. */
  allowed: string[] | undefined;
  pure: boolean;
}

/** Rows as `| `room/` | what is in it | may import |`. */
const ROOMS: Room[] = [...table.matchAll(/^\| `([\w/]+)\/` \|.*\| ([^|]+) \|$/gm)].map(([, name = "", last = ""]) => {
  const [rooms = "", kind] = last.split(" · ");
  const allowed = rooms === "everything" ? undefined : rooms === "nothing" ? [] : rooms.split(", ");
  return { name, allowed, pure: kind === "pure" };
});

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));

/** The most particular room of a file. */
const roomOf = (file: string): Room | undefined =>
  ROOMS.filter(({ name }) => file.startsWith(`${name}/`)).toSorted((a, b) => b.name.length - a.name.length)[0];

const sourceOf = (file: string): string =>
  readFileSync(join(SRC, file), "utf8")
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/^\s*\/\/.*$/gm, "");

/** Static imports, re-exports, dynamic imports and `import("…")` types alike. */
const importsIn = (source: string): string[] =>
  [...source.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)["']([^"']+)["']/g)].map(([, path]) => path as string);

const GLOBALS =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\b|\bcrypto\.|\bset(?:Timeout|Interval|Immediate)\(|\bqueueMicrotask\(|\bprocess\.|\bglobalThis\b|\bfetch\(|\bconsole\./;

/** What is wrong with one file, in words. */
function problemsIn(file: string, source: string): string[] {
  const room = roomOf(file);
  if (room === undefined) return [`${file}: it is in no room`];
  const problems: string[] = [];
  for (const path of importsIn(source)) {
    if (!path.startsWith(".")) {
      if (room.pure && path.startsWith("node:")) problems.push(`${file}: a pure room imports ${path}`);
      continue;
    }
    const target = relative(SRC, resolve(SRC, dirname(file), path));
    const other = roomOf(target);
    if (other === undefined) problems.push(`${file}: ${path} is in no room`);
    else if (other.name !== room.name && room.allowed?.includes(other.name) === false)
      problems.push(`${file}: ${room.name}/ may not import ${other.name}/ (${path})`);
  }
  const used = room.pure ? GLOBALS.exec(source) : null;
  if (used !== null) problems.push(`${file}: a pure room uses ${used[0]}`);
  return problems;
}

describe("walls", () => {
  test("ARCHITECTURE.md names every room, and only rooms that are there", () => {
    const folders = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(ROOMS.map(({ name }) => name.split("/")[0]).toSorted()).toEqual(
      [...folders.map(({ name }) => name), "web"].toSorted(),
    );
    const names = ROOMS.map(({ name }) => name);
    for (const { allowed } of ROOMS) for (const name of allowed ?? []) expect(names).toContain(name);
  });

  test("every import goes where the table allows, and pure rooms know no clock, no chance and no process", () => {
    expect(files.length).toBeGreaterThan(200);
    expect(files.flatMap((file) => problemsIn(file, sourceOf(file)))).toEqual([]);
  });

  test.each([
    ["run/x.ts", 'import { Git } from "../git/git.js";', "may not import git/"],
    ["run/x.ts", 'export type { Git } from "../git/git.js";', "may not import git/"],
    ["run/x.ts", 'type Git = import("../git/git.js").Git;', "may not import git/"],
    ["run/x.ts", 'const { Git } = await import("../git/git.js");', "may not import git/"],
    ["run/x.ts", 'import { readFileSync } from "node:fs";', "imports node:fs"],
    ["context/x.ts", "const now = Date.now();", "uses Date.now"],
    ["view/x.ts", "const now = new Date();", "uses new Date()"],
    ["plan/x.ts", "const n = Math.random();", "uses Math.random"],
    ["tui/x.tsx", 'import { evolve } from "../run/evolve.js";', "may not import run/"],
    ["web/page/x.tsx", 'import { Runs } from "../runs.js";', "may not import web/"],
  ])("a breach is seen: %s: %s", (file, source, problem) => {
    expect(problemsIn(file, source).join("\n")).toContain(problem);
  });
});
