/** The configuration of a repository: flags over file over defaults. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import { bad, good, type Result } from "../engine/failure.js";
import { Git } from "../git/git.js";

export interface ConfigFlags {
  model?: string;
  permissionMode?: string;
  contextLimit?: string;
  contextThreshold?: string;
  maxRestarts?: string;
}

const number = (value: string | undefined): number | string | undefined =>
  value === undefined || value.trim() === "" || Number.isNaN(Number(value)) ? value : Number(value);

function overridesOf(flags: ConfigFlags): Record<string, unknown> {
  const overrides = {
    model: flags.model,
    permission_mode: flags.permissionMode,
    context_limit: number(flags.contextLimit),
    context_threshold: number(flags.contextThreshold),
    max_restarts: number(flags.maxRestarts),
  };
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
}

export async function readSettings(
  cwd: string,
  flags: ConfigFlags,
  extra: Record<string, unknown> = {},
): Promise<Result<Config>> {
  const top = await new Git(cwd).attempt(["rev-parse", "--show-toplevel"]);
  const file = join(top.ok ? top.stdout.trim() : cwd, ".segno", "config.yaml");
  const source = existsSync(file) ? readFileSync(file, "utf8") : "";
  const loaded = loadConfig(source, { ...extra, ...overridesOf(flags) });
  if (loaded.ok) return good(loaded.config);
  return bad({
    type: "config",
    problems: loaded.problems.map((problem) => ({
      file: problem.line > 0 ? ".segno/config.yaml" : "flags",
      ...problem,
    })),
  });
}
