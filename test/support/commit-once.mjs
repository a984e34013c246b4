// Makes one commit with the built commitChanges: the request as JSON in COMMIT_REQUEST.
import { commitChanges } from "../../build/git/commit.js";
import { Git } from "../../build/git/git.js";

const request = JSON.parse(process.env.COMMIT_REQUEST);
const outcome = await commitChanges(new Git(process.env.COMMIT_REPO), {
  ...request,
  usersPaths: new Map(),
  plan: { files: [], marked: new Map() },
});
process.stdout.write(JSON.stringify(outcome));
