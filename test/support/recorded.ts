/** Runs that earlier versions left, as `scripts/record-journals.mjs` recorded them. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scratchFolder } from "./scratch.js";

const FOLDER = fileURLToPath(new URL("../fixtures/journals/", import.meta.url));

export interface Recorded {
  version: string;
  name: string;
}

export const recordedRuns = (): Recorded[] =>
  readdirSync(FOLDER).flatMap((version) =>
    readdirSync(join(FOLDER, version)).map((file) => ({ version, name: file.replace(/\.tar\.gz$/, "") })),
  );

/** The repository it ran in, somewhere else than where it was. */
export function unpack({ version, name }: Recorded): string {
  const folder = scratchFolder();
  execFileSync("tar", ["-xzf", join(FOLDER, version, `${name}.tar.gz`), "-C", folder, "--no-same-owner"]);
  return join(folder, "project");
}
