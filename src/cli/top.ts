/** The repository the user is in. */
import { bad, good, type Result } from "../engine/failure.js";
import { Git } from "../git/git.js";

export async function repositoryTop(): Promise<Result<string>> {
  const top = await new Git(process.cwd()).attempt(["rev-parse", "--show-toplevel"]);
  if (!top.ok) return bad({ type: "repository", problem: "not-a-repository", detail: process.cwd() });
  return good(top.stdout.trim());
}
