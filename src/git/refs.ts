/** Refs of Segno's own, by where they are. */
import type { Git } from "./git.js";

/** Takes away this ref and all below it, as far as there are any. */
export async function dropRefs(git: Git, place: string): Promise<void> {
  const listed = await git.raw(["for-each-ref", "--format=delete %(refname)", place]);
  if (listed !== "") await git.raw(["update-ref", "--stdin"], { input: listed });
}
