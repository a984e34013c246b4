/** Tests see no login, setting or git configuration of the machine they run on, and leave nothing behind. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { cleanUp, scratchFolder } from "./scratch.js";

const home = scratchFolder();
writeFileSync(
  join(home, ".gitconfig"),
  "[user]\n\tname = Test User\n\temail = test@segno.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n",
);
for (const name of Object.keys(process.env)) {
  if (/^(CLAUDE|ANTHROPIC|SEGNO|GIT_|XDG_)/.test(name)) delete process.env[name];
}
process.env.HOME = home;

afterAll(cleanUp);
