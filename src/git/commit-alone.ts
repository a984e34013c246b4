/** A commit of one file and nothing else, whatever is changed or staged beside it. */
import type { Git } from "./git.js";
import { withPrivateIndex } from "./trees.js";

/** False where git, or a hook, says no: the file stays in the working tree. */
export async function commitAlone(git: Git, path: string, message: string): Promise<boolean> {
  const made = await withPrivateIndex(git, async (index) => {
    await git.raw(["read-tree", "HEAD"], { index });
    await git.raw(["add", "--force", "--", path], { index });
    return (await git.attempt(["commit", "--quiet", "--file=-"], { index, input: `${message}\n` })).ok;
  });
  // Else the user's next commit would take it out again.
  if (made) await git.attempt(["reset", "--quiet", "--", path]);
  return made;
}
