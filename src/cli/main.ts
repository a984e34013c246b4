#!/usr/bin/env node
/** The command line. Each command is loaded only when it is called, so that the tool itself starts at once. */
import { readFileSync } from "node:fs";
import { endWithReader } from "./output.js";

endWithReader();

const version = (): string =>
  (JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }).version;

if (process.argv[2] === "--version" || process.argv[2] === "-V") {
  console.log(version());
} else {
  const { runProgram } = await import("./program.js");
  await runProgram(version());
}
