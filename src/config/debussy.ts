/** Another tool's configuration (`.debussy/config.yaml`): what of it means something here, key by key with its line. */
import { isMap, LineCounter, parseDocument } from "yaml";
import { configSchema } from "./schema.js";

export interface TakenKey {
  line: number;
  key: string;
  value: unknown;
  /** What it is here; undefined where nothing here means the same. */
  ours: { key: string; value: unknown } | undefined;
}

/** Names that differ; those that are the same are taken as they are. */
const NAMES: Record<string, (value: unknown) => { key: string; value: unknown } | undefined> = {
  // A ratio there, too, in some versions.
  context_threshold: (value) => ({
    key: "context_threshold",
    value: typeof value === "number" && value <= 1 ? value * 100 : value,
  }),
  context_window: (value) => ({ key: "context_limit", value }),
  max_retries: (value) => ({ key: "max_remediations", value }),
  max_remediation_attempts: (value) => ({ key: "max_remediations", value }),
  timeout: (value) => (typeof value === "number" ? { key: "phase_timeout_minutes", value: value / 60 } : undefined),
  phase_timeout: (value) =>
    typeof value === "number" ? { key: "phase_timeout_minutes", value: value / 60 } : undefined,
};

/** Undefined where it cannot be read. */
export function readDebussy(source: string): TakenKey[] | undefined {
  const counter = new LineCounter();
  const document = parseDocument(source, { lineCounter: counter });
  if (document.errors.length > 0) return undefined;
  if (!isMap(document.contents)) return [];
  return document.contents.items.map((pair) => {
    const key = String(pair.key);
    const at = (pair.key as { range?: [number, number, number] }).range?.[0] ?? 0;
    const value = (document.get(key) as { toJSON?: () => unknown } | undefined)?.toJSON?.() ?? document.get(key);
    return { line: counter.linePos(at).line, key, value, ours: oursFor(key, value) };
  });
}

function oursFor(key: string, value: unknown): TakenKey["ours"] {
  const named = NAMES[key] === undefined ? { key, value } : NAMES[key](value);
  if (named === undefined || !(named.key in configSchema.shape)) return undefined;
  const field = configSchema.shape[named.key as keyof typeof configSchema.shape];
  return field.safeParse(named.value).success ? named : undefined;
}
