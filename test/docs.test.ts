import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { configurationPage } from "../src/config/document.js";
import { configSchema } from "../src/config/schema.js";
import { TEMPLATE_NAMES } from "../src/handover/templates.js";
import { FAILURE_CATEGORIES } from "../src/run/outcome.js";
import { TOOL_NAMES } from "../src/tools/tools.js";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("docs/events.md names every event", () => {
  const types = [
    ...(read("src/run/event.ts")
      .split("export type Fact =")[1]
      ?.split("export type FactType")[0]
      ?.matchAll(/^ {2}\| (?:\()?\{?\s*(?:\n\s*)?type: "([\w-]+)"/gm) ?? []),
  ].map((match) => match[1]);
  expect(types.length).toBeGreaterThan(20);
  const documented = read("docs/events.md");
  expect(types.filter((type) => !documented.includes(`\`${type}\``))).toEqual([]);
});

test("docs/configuration.md is what the schema says (npm run docs writes it)", () => {
  expect(read("docs/configuration.md")).toBe(configurationPage());
});

test("docs/failures.md has every category once, and no other", () => {
  const rows = [...read("docs/failures.md").matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name);
  expect(rows.toSorted()).toEqual([...FAILURE_CATEGORIES].toSorted());
});

test("docs/handover.md lists every prompt that can be replaced", () => {
  const list = /replaced by `\.segno\/prompts\/NAME\.md`: ([\s\S]*?)\./.exec(read("docs/handover.md"))?.[1] ?? "";
  const named = [...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual([...TEMPLATE_NAMES].toSorted());
});

describe("docs/seeds.md names only what exists", () => {
  const page = read("docs/seeds.md");
  const here = [...page.matchAll(/^\|[^|]*\|(.*)\|$/gm)].map(([, cell]) => cell ?? "");
  const words = [...new Set(here.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? "")))];
  const sources = ["registered/run", "registered/resume", "registered/agent", "registered/status", "flags", "settings"]
    .map((name) => read(`src/cli/${name}.ts`))
    .join("\n");

  test("commands and flags", () => {
    const commands = words.filter((word) => word.startsWith("segno "));
    expect(commands.length).toBeGreaterThan(5);
    const program = ["agent", "audit", "forecast", "init", "report", "resume", "run", "status", "steer"]
      .map((name) => read(`src/cli/registered/${name}.ts`))
      .join("\n");
    for (const command of commands) {
      const [, name = "", ...flags] = command.split(" ");
      expect(program, command).toMatch(new RegExp(`command\\("${name}"|"${name}"`));
      for (const flag of flags) expect(program, command).toContain(flag);
    }
    for (const flag of words.filter((word) => word.startsWith("--"))) {
      const key = flag.replace(/^--(no-)?/, "").replaceAll("-", "_");
      expect(key in configSchema.shape || `${sources}${program}`.includes(flag), flag).toBe(true);
    }
  });

  test("keys, tools and files", () => {
    const tools: readonly string[] = TOOL_NAMES;
    const others = new Set(["ask", "observe", "split_request", "readFirst", "depends_on"]);
    for (const word of words.filter((each) => /^[a-z_]+$/.test(each) && !others.has(each)))
      expect(word in configSchema.shape || tools.includes(word), word).toBe(true);
    for (const file of words.filter((each) => each.startsWith("docs/"))) expect(read(file).length).toBeGreaterThan(100);
  });
});
