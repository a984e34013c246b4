/** Every command that the documents show is one the program takes. What is only parsed here is printed. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.js";
import { planFiles } from "../support/plans.js";
import { scratchRepo } from "../support/scratch.js";
import { site } from "../support/segno.js";

const TOP = fileURLToPath(new URL("../..", import.meta.url));
const FILES = [
  "README.md",
  ...readdirSync(join(TOP, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

interface Written {
  where: string;
  words: string[];
}

/** `segno …` in blocks of shell, and in backticks; placeholders in capitals stay words. */
function written(): Written[] {
  return FILES.flatMap((file) => {
    const text = readFileSync(join(TOP, file), "utf8");
    const found: Written[] = [];
    const take = (command: string, at: number): void => {
      const line = text.slice(0, at).split("\n").length;
      for (const part of command.replace(/\s+#.*$/, "").split(/\s*(?:\||&&|;)\s*(?=\S)/)) {
        const words = (part.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^["']|["']$/g, ""));
        if (words[0] === "segno" && words.length > 1) found.push({ where: `${file}:${line}`, words: words.slice(1) });
      }
    };
    for (const { 1: block = "", index } of text.matchAll(/```(?:sh|bash)\n([\s\S]*?)```/g))
      for (const line of block.split("\n")) take(line, index + block.indexOf(line));
    const outside = text.replaceAll(/```[\s\S]*?```/g, (block) => block.replaceAll(/[^\n]/g, " "));
    for (const { 1: code = "", index } of outside.matchAll(/`(segno [^`\n]+)`/g)) take(code, index);
    return found;
  });
}

/** What is written for people: `[RUN]`, `PLAN...`, `get KEY`. */
const typed = (words: readonly string[]): string[] =>
  words
    .map((word) => word.replace(/^\[|\]$|\.\.\.\]?$/g, "").replace(/…$/, "x"))
    .filter((word) => word !== "" && word !== "|");

function quiet(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  for (const inner of command.commands) {
    inner.action(() => {});
    quiet(inner);
  }
}

const sayTo = (text: string): void => void process.stdout.write(`${text}\n`);

test("the program takes every command that is written down", async () => {
  const all = written();
  expect(all.length).toBeGreaterThan(60);
  const refused: string[] = [];
  for (const { where, words } of all) {
    const program = buildProgram("0");
    quiet(program);
    try {
      await program.parseAsync(typed(words), { from: "user" });
    } catch (error) {
      const { code = "", message } = error as { code?: string; message: string };
      // A command that is only named is not called.
      const named = words.length === 1 && /missing(Argument|MandatoryOptionValue)/.test(code);
      if (!named && !/helpDisplayed|version/.test(code)) refused.push(`${where}: segno ${words.join(" ")}: ${message}`);
    }
  }
  expect(refused).toEqual([]);
});

/** What needs nothing but a repository with a plan and a run of it. */
const RUNS = new Set([
  "audit",
  "forecast",
  "config",
  "init",
  "runs",
  "completion",
  "status",
  "report",
  "gate",
  "diff",
  "logs",
  "clean",
]);
const isComplete = (words: readonly string[]): boolean =>
  !(words[0] === "config" && words.length === 2) &&
  words.every((word) => word === "PLAN.md" || !/[A-Z]{2,}|…|\[|~|\.\.\./.test(word)) &&
  !words.includes("--follow") &&
  // There is none.
  !words.includes("--team") &&
  !words.includes("--from-debussy") &&
  !words.includes("-");

test("what needs no agent and no placeholder works, in a repository with a finished run", async () => {
  const all = [...new Map(written().map(({ words }) => [words.join(" "), words])).values()];
  const [runnable, parsed] = [all.filter((words) => RUNS.has(words[0] ?? "") && isComplete(words)), [] as string[]];
  for (const words of all) if (!runnable.includes(words)) parsed.push(words.join(" "));
  expect(runnable.length).toBeGreaterThan(15);
  const notes = "# N\n\n## A\n\n- a\n";
  const repo = scratchRepo({
    ...planFiles([
      { id: "1", gates: ["true"] },
      { id: "2", dependsOn: ["1"] },
    ]),
    "NOTES.md": notes,
  });
  const place = await site({ repo });
  expect((await place.segno(["run", "PLAN.md"]).ended).code).toBe(0);
  const failed: string[] = [];
  // What takes the runs away comes last.
  for (const words of runnable.toSorted((a, b) => Number(a[0] === "clean") - Number(b[0] === "clean"))) {
    // Files that a command is about are the reader's own.
    const absent = words.filter(
      (word) => /\.(md|html)$|\//.test(word) && word !== "run.html" && !existsSync(join(repo, word)),
    );
    if (absent.length > 0) {
      parsed.push(words.join(" "));
      continue;
    }
    const { code, stderr, stdout } = await place.segno([...words]).ended;
    // A gate that is shown by name may not be one of this plan's.
    if (code !== 0 && !(words[0] === "gate" && code === 2))
      failed.push(`segno ${words.join(" ")}: ${code}\n${stdout.slice(-300)}${stderr.slice(-300)}`);
  }
  expect(failed).toEqual([]);
  sayTo(`parsed, not run: ${parsed.toSorted().join(" · ")}`);
});
