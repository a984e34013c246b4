/** A program of the user's: on their PATH, else where its installers put it. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

export function findProgram(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  places: readonly string[] = [],
): string | undefined {
  const elsewhere = places.map((place) => place.replace(/^~/, env.HOME ?? "~"));
  const folders = [...(env.PATH ?? "").split(delimiter), ...elsewhere].filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
