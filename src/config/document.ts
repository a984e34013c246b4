/** `docs/configuration.md`, made from the schema so that the two cannot differ. */
import { stringify } from "yaml";
import { z } from "zod";
import { configSchema } from "./schema.js";

interface KeySchema {
  type?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
  description?: string;
}

const keys = (): [string, KeySchema][] =>
  Object.entries(
    (z.toJSONSchema(configSchema, { io: "input" }) as unknown as { properties: Record<string, KeySchema> }).properties,
  );

/** A key that is set, with a word on why. */
export interface SetKey {
  key: string;
  value: unknown;
  why: string;
}

/** A configuration in which every key is explained, and only these are set. */
export function configurationFile(set: readonly SetKey[] = []): string {
  // The threshold's other name is for files that come from elsewhere.
  const chosen = new Set(set.map(({ key }) => key));
  const own = keys().filter(([key]) => key !== "context_restart_threshold" && !chosen.has(key));
  const parts = own.map(
    ([key, schema]) => `# ${(schema.description ?? "").replaceAll("\n", "\n# ")}\n# ${exampleOf(key, schema)}\n`,
  );
  const said = set.map(({ key, value, why }) => `# ${why.replaceAll("\n", "\n# ")}\n${stringify({ [key]: value })}`);
  return `# Segno's configuration. Remove the # in front of a key to set it; \`segno config\` shows what counts.\n\n${[...said, ...parts].join("\n")}`;
}

export function configurationPage(): string {
  const sections = keys().map(([key, value]) => keySection(key, value));
  return `# Configuration

\`.segno/config.yaml\` at the repository's top level, and your own \`~/.config/segno/config.yaml\` for all of them. Flags win
over the environment (\`SEGNO_CONTEXT_THRESHOLD=70\`), that over the project's file, that over your own, that over the
defaults. A key that is not listed here is an error. \`segno config\` shows what counts, and why; \`segno config set\`
changes it.

Anyone may have committed a project's file. So it may narrow what your own permits, and never widen it: a lower
\`permission_mode\`, smaller budgets, more \`denied_tools\` and \`env_deny\`, fewer \`allowed_tools\`, a \`sandbox\`.

${sections.join("\n")}`;
}

const exampleOf = (key: string, schema: KeySchema): string => {
  const value = EXAMPLES[key as keyof typeof EXAMPLES] ?? schema.default ?? schema.enum?.[0] ?? schema.minimum ?? "…";
  return `${key}: ${typeof value === "string" && /[{}]/.test(value) && !value.startsWith("{") ? JSON.stringify(value) : Array.isArray(value) ? JSON.stringify(value) : String(value)}`;
};

function keySection(key: string, schema: KeySchema): string {
  const example = exampleOf(key, schema);
  const value = schema.default === undefined ? "not set" : `\`${JSON.stringify(schema.default)}\``;
  return `## \`${key}\`

${schema.description ?? ""}

Type: ${typeOf(schema)}. Default: ${value}. Example: \`${example}\`
`;
}

function typeOf({ type, enum: values, minimum, maximum }: KeySchema): string {
  if (values !== undefined) return `one of ${values.map((value) => `\`${value}\``).join(", ")}`;
  const range =
    minimum === undefined
      ? maximum === undefined
        ? ""
        : ` up to ${maximum}`
      : maximum === undefined
        ? ` from ${minimum}`
        : ` from ${minimum} to ${maximum}`;
  return `${TYPES[type ?? ""] ?? type ?? "text"}${range}`;
}

const TYPES: Record<string, string> = {
  integer: "whole number",
  string: "text",
  boolean: "true or false",
  object: "names and values",
  array: "a list",
};

/** Where neither default nor range makes a good example. */
const EXAMPLES: Partial<Record<keyof typeof configSchema.shape, string | number>> = {
  model: "claude-sonnet-4-5",
  fallback: "[codex, work]",
  accounts: "{ work: { agent: claude, home: ~/.claude-work } }",
  agents: "{ verify: codex, rules: [{ phases: [2], agent: opencode }] }",
  permission_mode: "edits",
  context_limit: 150_000,
  test_command: "npm test",
  gates: "{coverage: npm run coverage, review: manual}",
  project_gates: "{tests: npm test, lint: npm run lint}",
  tag: "my-feature",
};
