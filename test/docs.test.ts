import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configurationPage } from "../src/config/document.js";

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
