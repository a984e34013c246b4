/** Files that phases claim in the plan: two that claim the same are not worked on at the same time. */
import type { Phase } from "../plan/model.js";

/** A claim without what says "anything below". */
const rootOf = (claim: string): string => claim.replace(/^\.\//, "").replace(/\*.*$/, "").replace(/\/$/, "");

function overlap(a: string, b: string): boolean {
  const [left, right] = [rootOf(a), rootOf(b)];
  return left === right || left.startsWith(`${right}/`) || right.startsWith(`${left}/`);
}

/** What both claim, as the first of them says it. */
export const filesOfBoth = (a: Pick<Phase, "files">, b: Pick<Phase, "files">): string[] =>
  a.files.filter((file) => b.files.some((other) => overlap(file, other)));
