#!/usr/bin/env node
/** The command line. Each command is loaded only when it is called, so that the tool itself starts at once. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CodeCache } from "./code-cache.js";

const here = dirname(fileURLToPath(import.meta.url));

const version = (): string =>
  (JSON.parse(readFileSync(join(here, "../../package.json"), "utf8")) as { version: string }).version;

if (process.argv[2] === "--version" || process.argv[2] === "-V") {
  console.log(version());
} else {
  const { runProgram } = new CodeCache(dirname(here)).load(join(here, "program.js")) as typeof import("./program.js");
  void runProgram(version());
}
