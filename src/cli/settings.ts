/** The effective configuration: flags, then environment (`SEGNO_*`), then the project's file, then the user's, then defaults. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { type Layer, loadConfig, type SettingSources } from "../config/load.js";
import { type Config, configSchema } from "../config/schema.js";
import { bad, good, type Result } from "../engine/failure.js";
import { topOf } from "../git/places.js";

/** Flags by their configuration keys; commander gives text or booleans. */
export interface ConfigFlags {
  agent?: string;
  model?: string;
  permissionMode?: string;
  contextLimit?: string;
  contextThreshold?: string;
  contextPolicy?: string;
  contextSoft?: string;
  quality?: boolean;
  checkpointEvery?: string;
  onFailure?: string;
  branch?: string;
  parallel?: string;
  sequential?: boolean;
  split?: string;
  maxRestarts?: string;
  autoCommit?: boolean;
  subPhases?: string | undefined;
  tag?: string | undefined;
}

export interface Settings {
  config: Config;
  sources: SettingSources;
  /** The project's file, whether it is there or not. */
  file: string;
  /** Keys in which it wants more than the user's own permits. */
  refused: string[];
  /** Commands that it wants to start as agents, and the user did not name. */
  commands: string[];
}

/** The user's own file, for all their projects. */
export const userFile = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), ".config"), "segno", "config.yaml");

export async function readSettings(
  cwd: string,
  flags: ConfigFlags,
  preset: Record<string, unknown> = {},
): Promise<Result<Settings>> {
  const file = join((await topOf(cwd)) ?? cwd, ".segno", "config.yaml");
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
  const layers: Layer[] = [
    { name: "user", source: read(userFile()) },
    { name: "preset", values: preset },
    { name: "file", source: read(file) },
    { name: "environment", values: environmentValues() },
    { name: "flag", values: flagValues(flags) },
  ];
  const loaded = loadConfig(layers);
  if (loaded.ok) {
    const { config, sources, refused, commands } = loaded;
    // What was asked for on the command line, or in the environment, is the user's own word.
    const named = new Set([flags.agent, process.env.SEGNO_AGENT]);
    return good({ config, sources, file, refused, commands: commands.filter((each) => !named.has(`acp:${each}`)) });
  }
  const problems = loaded.problems.map(({ layer, ...problem }) => ({
    file:
      layer === "user"
        ? userFile()
        : layer === "file"
          ? ".segno/config.yaml"
          : layer === "flag"
            ? "on the command line"
            : `in the ${layer}`,
    ...problem,
  }));
  return bad({ type: "config", problems });
}

function flagValues(flags: ConfigFlags): Record<string, unknown> {
  const {
    model,
    permissionMode,
    contextLimit,
    contextThreshold,
    contextPolicy,
    contextSoft,
    maxRestarts,
    autoCommit,
    subPhases,
  } = flags;
  return {
    agent: flags.agent,
    model,
    permission_mode: permissionMode,
    context_limit: readValue(contextLimit),
    context_threshold: readValue(contextThreshold),
    context_policy: contextPolicy,
    context_soft: readValue(contextSoft),
    verify: flags.quality === true ? "agent" : undefined,
    checkpoint_every: readValue(flags.checkpointEvery),
    on_failure: flags.onFailure,
    branch: flags.branch,
    parallel: flags.sequential === true ? 1 : readValue(flags.parallel),
    split_parallel: flags.sequential === true ? 1 : undefined,
    split: flags.split,
    max_restarts: readValue(maxRestarts),
    auto_commit: autoCommit,
    sub_phases: subPhases,
    tag: flags.tag,
  };
}

/** `SEGNO_CONTEXT_THRESHOLD=70` is `context_threshold: 70`; one that is empty is not set. */
function environmentValues(): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(configSchema.shape).flatMap((key) => {
      const value = process.env[`SEGNO_${key.toUpperCase()}`];
      return value === undefined || value === "" ? [] : [[key, readValue(value)]];
    }),
  );
}

function readValue(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  if (text === "true" || text === "false") return text === "true";
  if (/^\[.*\]$/.test(text)) return parse(text);
  return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
}
