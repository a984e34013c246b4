/** Layers of values → configuration, or problems with line and column. A later layer wins. */
import { isMap, LineCounter, type Node, parseDocument } from "yaml";
import { foreignCommands } from "./commands.js";
import { narrowed } from "./narrow.js";
import { type Config, configSchema } from "./schema.js";
import { nearest } from "./suggest.js";

export type SettingLayer = "user" | "preset" | "file" | "environment" | "flag";

/** YAML text, or values that were read elsewhere. */
export type Layer = { name: SettingLayer } & ({ source: string } | { values: Readonly<Record<string, unknown>> });

export interface KeyProblem {
  layer: SettingLayer;
  line: number;
  column: number;
  message: string;
  fix: string;
}

/** Where each effective value comes from. */
export type SettingSources = Record<string, SettingLayer | "default" | "implied">;

/** `refused`: keys in which the project's file wants more than the user's permits. `commands`: that it wants to start. */
export type Loaded =
  | { ok: true; config: Config; sources: SettingSources; refused: string[]; commands: string[] }
  | { ok: false; problems: KeyProblem[] };

interface ReadLayer {
  values: Record<string, unknown>;
  placeOf: (key: string) => { line: number; column: number };
  problems: KeyProblem[];
}

const KEYS = Object.keys(configSchema.shape);
const NOWHERE = { line: 0, column: 0 };

export function loadConfig(layers: readonly Layer[]): Loaded {
  const read = layers.map((layer) => ({ name: layer.name, ...readLayer(layer) }));
  const broken = read.flatMap((layer) => layer.problems);
  if (broken.length > 0) return { ok: false, problems: broken };
  const values: Record<string, unknown> = {};
  const sources: SettingSources = Object.fromEntries(KEYS.map((key) => [key, "default"]));
  const user = read.find(({ name }) => name === "user")?.values ?? {};
  let refused: string[] = [];
  for (const layer of read) {
    const counted = layer.name === "file" ? narrowed(user, layer.values) : { values: layer.values, refused: [] };
    refused = [...refused, ...counted.refused];
    for (const [key, value] of Object.entries(counted.values)) {
      if (value === undefined) continue;
      values[key] = value;
      sources[key] = counted.refused.includes(key) ? "user" : layer.name;
    }
  }
  const parsed = configSchema.safeParse(values);
  const project = read.find(({ name }) => name === "file")?.values ?? {};
  const found = { refused, commands: foreignCommands(user, project) };
  if (parsed.success) return withImplied(resolveAlias(parsed.data, sources, found));
  const at = (key: string) => {
    const layer = read.findLast((candidate) => candidate.values[key] !== undefined);
    return { layer: layer?.name ?? ("file" as const), ...(layer?.placeOf(key) ?? NOWHERE) };
  };
  const problems = parsed.error.issues.flatMap((issue): KeyProblem[] => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ ...at(key), message: `There is no key \`${key}\`.`, fix: unknownKey(key) }));
    }
    const key = String(issue.path[0]);
    return [
      { ...at(key), message: `\`${key}\` has a value that cannot be used: ${issue.message}.`, fix: describeKey(key) },
    ];
  });
  return { ok: false, problems };
}

/** The threshold's other name; set beside the first in the same layer it would leave open which one counts. */
function resolveAlias(
  config: Config,
  sources: SettingSources,
  found: { refused: string[]; commands: string[] },
): Loaded {
  const { context_restart_threshold: ratio } = config;
  if (ratio === undefined) return { ok: true, config, sources, ...found };
  const [alias, own] = [sources.context_restart_threshold, sources.context_threshold];
  if (alias === own) {
    const message = "`context_threshold` and `context_restart_threshold` are both set, and mean the same.";
    return {
      ok: false,
      problems: [{ layer: alias as SettingLayer, ...NOWHERE, message, fix: "Remove one of them." }],
    };
  }
  const wins = ORDER.indexOf(alias ?? "default") > ORDER.indexOf(own ?? "default");
  if (!wins) return { ok: true, config, sources, ...found };
  return {
    ok: true,
    config: { ...config, context_threshold: Math.min(100, ratio * 100) },
    sources: { ...sources, context_threshold: alias ?? "default" },
    ...found,
  };
}

/** Whoever names the threshold means it: what would hand over earlier is off, unless they named that, too. */
function withImplied(loaded: Loaded): Loaded {
  if (!loaded.ok || loaded.sources.context_threshold === "default") return loaded;
  const quiet = (["context_soft", "context_max_tokens"] as const).filter((key) => loaded.sources[key] === "default");
  const off = Object.fromEntries(quiet.map((key) => [key, "off"]));
  const implied = Object.fromEntries(quiet.map((key) => [key, "implied" as const]));
  return { ...loaded, config: { ...loaded.config, ...off }, sources: { ...loaded.sources, ...implied } };
}

const ORDER: SettingSources[string][] = ["default", "user", "preset", "file", "environment", "flag"];

function readLayer(layer: Layer): ReadLayer {
  if ("values" in layer) return { values: { ...layer.values }, placeOf: () => NOWHERE, problems: [] };
  const lines = new LineCounter();
  const document = parseDocument(layer.source, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const problem = (place: { line: number; column: number }, message: string, fix: string): ReadLayer => ({
    values: {},
    placeOf: () => NOWHERE,
    problems: [{ layer: layer.name, ...place, message, fix }],
  });
  const error = document.errors[0];
  if (error !== undefined) {
    return problem(
      at(error.pos[0]),
      `This is not valid YAML: ${error.message}`,
      "Correct the line; each entry is `key: value`.",
    );
  }
  const { contents } = document;
  if (contents === null) return { values: {}, placeOf: () => NOWHERE, problems: [] };
  if (!isMap(contents)) {
    return problem(
      { line: 1, column: 1 },
      "The configuration must consist of `key: value` lines.",
      "For example: context_threshold: 80",
    );
  }
  return {
    values: document.toJS() as Record<string, unknown>,
    placeOf: (key) => {
      const pair = contents.items.find((item) => String(item.key) === key);
      const offset = (pair?.key as Node | undefined)?.range?.[0];
      return offset === undefined ? NOWHERE : at(offset);
    },
    problems: [],
  };
}

function unknownKey(key: string): string {
  const near = nearest(key, KEYS);
  return near === undefined ? `Keys: ${KEYS.join(", ")}.` : `Did you mean \`${near}\`?`;
}

const describeKey = (key: string): string =>
  configSchema.shape[key as keyof typeof configSchema.shape]?.description ?? "";
