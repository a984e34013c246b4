/** `.segno/config.yaml` → configuration, or problems with line and column. */
import { isMap, LineCounter, type Node, parseDocument } from "yaml";
import { type Config, configSchema } from "./schema.js";

export interface KeyProblem {
  line: number;
  column: number;
  message: string;
  fix: string;
}

export type Loaded = { ok: true; config: Config } | { ok: false; problems: KeyProblem[] };

/** `overrides` (flags, environment) win over the file's values. */
export function loadConfig(source: string, overrides: Readonly<Record<string, unknown>>): Loaded {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      ...at(error.pos[0]),
      message: `This is not valid YAML: ${error.message}`,
      fix: "Correct the line; each entry is `key: value`.",
    }));
    return { ok: false, problems };
  }
  if (document.contents !== null && !isMap(document.contents)) {
    return {
      ok: false,
      problems: [
        {
          line: 1,
          column: 1,
          message: "The configuration must be a list of `key: value` lines.",
          fix: "For example: context_threshold: 80",
        },
      ],
    };
  }
  const values = { ...(document.toJS() as Record<string, unknown> | null), ...overrides };
  const parsed = configSchema.safeParse(values);
  if (parsed.success) return { ok: true, config: parsed.data };
  const place = (key: string) => {
    const pair = isMap(document.contents)
      ? document.contents.items.find((item) => String(item.key) === key)
      : undefined;
    const offset = (pair?.key as Node | undefined)?.range?.[0];
    return offset === undefined ? { line: 0, column: 0 } : at(offset);
  };
  const problems = parsed.error.issues.flatMap((issue): KeyProblem[] => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ ...place(key), message: `There is no key \`${key}\`.`, fix: suggestion(key) }));
    }
    const key = String(issue.path[0]);
    return [
      {
        ...place(key),
        message: `\`${key}\` has a value that cannot be used: ${issue.message}.`,
        fix: describeKey(key),
      },
    ];
  });
  return { ok: false, problems };
}

const KEYS = Object.keys(configSchema.shape);

function suggestion(key: string): string {
  const near = KEYS.map((known) => ({ known, far: distance(key, known) })).sort((a, b) => a.far - b.far)[0];
  return near !== undefined && near.far <= Math.max(2, key.length / 3)
    ? `Did you mean \`${near.known}\`?`
    : `Keys: ${KEYS.join(", ")}.`;
}

const describeKey = (key: string): string =>
  configSchema.shape[key as keyof typeof configSchema.shape]?.description ?? "";

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, (row[j - 1] as number) + same));
    }
    row = next;
  }
  return row[b.length] as number;
}
