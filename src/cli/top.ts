/** The repository the user is in. */
import { bad, good, type Result } from "../engine/failure.js";
import { topOf } from "../git/places.js";

export async function repositoryTop(): Promise<Result<string>> {
  const top = await topOf(process.cwd());
  if (top === undefined) return bad({ type: "repository", problem: "not-a-repository", detail: process.cwd() });
  return good(top);
}
