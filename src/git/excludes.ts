/**
 * What an agent's own git does not see: Segno's folder, and plan files that are in no commit. So that `git stash -u` and
 * `git clean -fd` leave them where they are, and `git add -A` out. Everyone else's git sees them as before.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Git } from "./git.js";
import { gitPlaces } from "./places.js";

export async function hideFromAgent(
  git: Git,
  planFiles: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const places = gitPlaces(git.top);
  if (places === undefined) return {};
  const tracked = new Set(await git.nulSeparated(["ls-files", "-z", "--", ...planFiles]));
  const hidden = ["/.segno/", ...planFiles.filter((file) => !tracked.has(file)).map((file) => `/${escaped(file)}`)];
  const file = join(places.common, "segno", "hidden-from-agents");
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${await usersOwn(git, env)}\n${hidden.join("\n")}\n`);
  } catch {
    // It only keeps things in their place; what is taken away all the same is put back.
    return {};
  }
  const count = Number(env.GIT_CONFIG_COUNT ?? 0);
  return {
    GIT_CONFIG_COUNT: String(count + 1),
    [`GIT_CONFIG_KEY_${count}`]: "core.excludesFile",
    [`GIT_CONFIG_VALUE_${count}`]: file,
  };
}

/** What the user ignores everywhere: the setting has one value, so theirs must be in ours. */
async function usersOwn(git: Git, env: Readonly<Record<string, string>>): Promise<string> {
  const named = (await git.attempt(["config", "--type=path", "--get", "core.excludesFile"])).stdout.trim();
  const usual = join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), ".config"), "git", "ignore");
  try {
    return readFileSync(named === "" ? usual : named, "utf8");
  } catch {
    return "";
  }
}

const escaped = (path: string): string => path.replaceAll(/[\\*?[\]!# ]/g, "\\$&");
