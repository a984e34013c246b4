/** Files that phases name in the plan as theirs: two that name the same are not worked on at the same time. */
import type { Phase } from "../plan/model.js";

/** A name without what says "anything below". */
const rootOf = (name: string): string => name.replace(/^\.\//, "").replace(/\*.*$/, "").replace(/\/$/, "");

function overlap(a: string, b: string): boolean {
  const [left, right] = [rootOf(a), rootOf(b)];
  return left === right || left.startsWith(`${right}/`) || right.startsWith(`${left}/`);
}

/** What both name, as the first of them says it. */
export const filesOfBoth = (a: Pick<Phase, "files">, b: Pick<Phase, "files">): string[] =>
  a.files.filter((file) => b.files.some((other) => overlap(file, other)));
