#!/usr/bin/env node
/** The command line. Each command is loaded only when it is called, so that the tool itself starts at once. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { CodeCache } from "./code-cache.js";

const here = dirname(fileURLToPath(import.meta.url));

/** What Node ends a program with that waits for something which never comes. */
const NEVER_ENDED = 13;

const version = (): string =>
  (JSON.parse(readFileSync(join(here, "../../package.json"), "utf8")) as { version: string }).version;

/**
 * V8 gives young objects twice 16 MB as soon as a program has loaded its modules, and never takes them back. Segno waits
 * beside an agent for hours: the first megabyte is enough. What was kept of the code was made under the same flag.
 */
const keepSmall = (): void => setFlagsFromString("--semi-space-growth-factor=1");

async function run(): Promise<void> {
  keepSmall();
  const cache = new CodeCache(dirname(here));
  const { runProgram } = cache.load(join(here, "program.js")) as typeof import("./program.js");
  let ended = false;
  process.on("exit", () => {
    // Without an end there is no success.
    if (!ended) process.exitCode ??= NEVER_ENDED;
  });
  try {
    await runProgram(version());
  } finally {
    ended = true;
  }
}

if (process.argv[2] === "--version" || process.argv[2] === "-V") console.log(version());
else
  run().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
