/** The branch a run works on. */
import type { Git } from "./git.js";

const MOST_TRIES = 1_000;

/** `current`, `auto`, or a name; the branch that is checked out afterwards, or why not. */
export async function takeBranch(
  git: Git,
  wanted: string,
  plan: string,
  current: string,
): Promise<{ ok: true; branch: string } | { ok: false; why: string }> {
  if (wanted === "current" || wanted === current) return { ok: true, branch: current };
  const name = wanted === "auto" ? await freeName(git, `segno/${slugOf(plan)}`) : wanted;
  const valid = await git.attempt(["check-ref-format", "--branch", name]);
  if (!valid.ok) return { ok: false, why: `${name} is not a name that git accepts for a branch` };
  const exists = await git.attempt(["rev-parse", "--verify", "--quiet", `refs/heads/${name}`]);
  const switched = await git.attempt(exists.ok ? ["switch", "--quiet", name] : ["switch", "--quiet", "--create", name]);
  return switched.ok ? { ok: true, branch: name } : { ok: false, why: switched.stderr.trim() };
}

const slugOf = (plan: string): string =>
  plan
    .replace(/\.\w+$/, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "") || "plan";

async function freeName(git: Git, base: string): Promise<string> {
  for (let n = 1; n < MOST_TRIES; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!(await git.attempt(["rev-parse", "--verify", "--quiet", `refs/heads/${name}`])).ok) return name;
  }
  throw new Error(`no free branch name like ${base}`);
}
