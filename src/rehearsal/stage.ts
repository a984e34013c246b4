/** The scratch folder of a rehearsal: a clone of the user's repository, or the example, and a home of its own. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Git } from "../git/git.js";

export interface Stage {
  /** The folder that holds everything of this rehearsal. */
  folder: string;
  repository: string;
  home: string;
}

export const STAGE_PREFIX = "segno-rehearsal-";
export const EXAMPLE_PLAN = "PLAN.md";
const EXAMPLE = fileURLToPath(new URL("../../examples/greeter", import.meta.url));

export async function stageExample(): Promise<Stage> {
  const stage = newStage();
  cpSync(EXAMPLE, stage.repository, { recursive: true });
  const git = new Git(stage.repository);
  await git.raw(["init", "--quiet", "--initial-branch=main"]);
  await git.raw(["add", "--all"]);
  await settle(git, "The example plan");
  return stage;
}

/** A clone of what is committed, with the plan's files as they are now. */
export async function stageClone(top: string, planFiles: readonly string[]): Promise<Stage> {
  const stage = newStage();
  await new Git(stage.folder).raw(["clone", "--quiet", "--no-hardlinks", "--", top, stage.repository]);
  for (const file of planFiles) {
    const target = join(stage.repository, file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(join(top, file)));
  }
  const git = new Git(stage.repository);
  await git.raw(["remote", "remove", "origin"]);
  await git.raw(["add", "--force", "--", ...planFiles]);
  await settle(git, "The plan as it is now");
  return stage;
}

function newStage(): Stage {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), STAGE_PREFIX)));
  const [repository, home] = [join(folder, "repository"), join(folder, "home")];
  mkdirSync(home);
  return { folder, repository, home };
}

async function settle(git: Git, message: string): Promise<void> {
  for (const [key, value] of [
    ["user.name", "Segno rehearsal"],
    ["user.email", "rehearsal@segno.invalid"],
    ["commit.gpgsign", "false"],
  ]) {
    await git.raw(["config", key as string, value as string]);
  }
  const clean = await git.attempt(["diff", "--cached", "--quiet"]);
  if (!clean.ok) await git.raw(["commit", "--quiet", "--no-verify", "-m", message]);
}

/** The same place below the clone as `cwd` has below the user's repository. */
export const sameFolder = (stage: Stage, top: string, cwd: string): string =>
  join(stage.repository, relative(top, cwd));

/** What the agent of a rehearsal gets: nothing of the user's but the PATH. */
export function rehearsalEnv(stage: Stage, modelUrl: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: stage.home,
    TMPDIR: tmpdir(),
    LANG: process.env.LANG ?? "C.UTF-8",
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: "rehearsal",
    OPENAI_BASE_URL: `${modelUrl}/v1`,
    OPENAI_API_KEY: "rehearsal",
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    GEMINI_API_KEY: "rehearsal",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    IS_SANDBOX: "1",
  };
}
