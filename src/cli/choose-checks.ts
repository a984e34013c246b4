/** `gates_found: ask`: which of the project's own checks judge a plan that names none. */
import type { Config } from "../config/schema.js";
import type { FoundCheck } from "../gates/found/check.js";
import { askChoice, isTerminal } from "./ask.js";
import type { Attended } from "./attended.js";

type Choose = (checks: readonly FoundCheck[]) => Promise<readonly FoundCheck[] | undefined>;

/** Undefined: what is chosen by default counts. Where nobody can be asked, none is taken. */
export function chooseChecks({ gates_found }: Config, attended: Attended, json: boolean): Choose | undefined {
  if (gates_found !== "ask") return undefined;
  return attended === "here" && isTerminal(json) ? askWhich : async () => [];
}

/** Each with where it was found; what may do more than check is said so. Undefined where somebody ended the question. */
export async function askWhich(checks: readonly FoundCheck[]): Promise<readonly FoundCheck[] | undefined> {
  const taken: FoundCheck[] = [];
  for (const check of checks) {
    const { command, where, safe } = check;
    const doubt = safe ? "" : " It does not come from a manifest: be sure that it only checks, and ends.";
    const answer = await askChoice(`Judge every phase with \`${command}\` (${where})?${doubt}`, [
      { name: "yes", meaning: "it must pass before a phase is done" },
      { name: "no", meaning: "leave it out" },
    ]);
    if (answer === undefined) return undefined;
    if (answer === "yes") taken.push(check);
  }
  return taken;
}
