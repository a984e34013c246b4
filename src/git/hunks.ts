/** A file that held the user's uncommitted changes when a phase began, and that the phase edited too. */
import type { Git } from "./git.js";
import { mergeText, textIn } from "./merge-text.js";

/** The file as HEAD has it, with the phase's own hunks and none of the user's; undefined where they cannot be told apart. */
export async function phaseHunks(git: Git, baseline: string, now: string, path: string): Promise<string | undefined> {
  const [head, before, after] = await Promise.all(["HEAD", baseline, now].map((tree) => textIn(git, tree, path)));
  if (head === undefined || before === undefined || after === undefined || before === after) return undefined;
  const merged = await mergeText(git, head, before, after);
  return merged === undefined ? undefined : git.line(["hash-object", "-w", "--stdin"], { input: merged });
}
