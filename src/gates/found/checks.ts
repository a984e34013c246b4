/** The project's own checks: each command once, where it was found first; names are their own. */
import type { FoundCheck, ProjectFiles } from "./check.js";
import { inManifests } from "./manifests.js";
import { inWords, inWorkflows } from "./texts.js";

export function foundChecks(files: ProjectFiles, texts: readonly { file: string; text: string }[] = []): FoundCheck[] {
  const taken = new Set<string>();
  const names = new Map<string, number>();
  return [...inManifests(files), ...inWorkflows(files), ...inWords(texts)].flatMap((check) => {
    if (taken.has(check.command)) return [];
    taken.add(check.command);
    const count = (names.get(check.name) ?? 0) + 1;
    names.set(check.name, count);
    return [{ ...check, name: count === 1 ? check.name : `${check.name} ${count}` }];
  });
}
