/** `docs/configuration.md`, made from the schema so that the two cannot differ. */
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

export function configurationPage(): string {
  const schema = z.toJSONSchema(configSchema, { io: "input" }) as unknown as { properties: Record<string, KeySchema> };
  const sections = Object.entries(schema.properties).map(([key, value]) => keySection(key, value));
  return `# Configuration

\`.segno/config.yaml\` at the repository's top level. Flags win over the environment
(\`SEGNO_CONTEXT_THRESHOLD=70\`), that over the file, that over the defaults. A key that is not listed here is an error.
\`segno config\` shows what counts, and why.

${sections.join("\n")}`;
}

function keySection(key: string, schema: KeySchema): string {
  const example = `${key}: ${String(EXAMPLES[key as keyof typeof EXAMPLES] ?? schema.default ?? schema.enum?.[0] ?? schema.minimum ?? "…")}`;
  const value = schema.default === undefined ? "not set" : `\`${JSON.stringify(schema.default)}\``;
  return `## \`${key}\`

${schema.description ?? ""}

Type: ${typeOf(schema)}. Default: ${value}. Example: \`${example}\`
`;
}

function typeOf({ type, enum: values, minimum, maximum }: KeySchema): string {
  if (values !== undefined) return `one of ${values.map((value) => `\`${value}\``).join(", ")}`;
  const range = minimum === undefined && maximum === undefined ? "" : ` from ${minimum} to ${maximum}`;
  return `${type === "integer" ? "whole number" : (type ?? "text")}${range}`;
}

/** Where neither default nor range makes a good example. */
const EXAMPLES: Partial<Record<keyof typeof configSchema.shape, string | number>> = {
  model: "claude-sonnet-4-5",
  permission_mode: "acceptEdits",
  context_limit: 150_000,
};
