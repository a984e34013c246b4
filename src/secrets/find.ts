/** What must never be committed: secrets, key files, and files far too large. Found before a commit is made. */
import { SECRET_FORMS } from "./forms.js";

export interface Finding {
  path: string;
  line: number;
  what: string;
}

/** Files that hold nothing but secrets. Never staged, whatever is in them. */
const NEVER =
  /(^|\/)(\.env(\.[\w-]+)*|\.netrc|\.pgpass|\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|[^/]*\.(pem|key|p12|pfx|jks|keystore|ppk|kdbx)|service[-_]?account[\w-]*\.json|credentials\.json)$/i;
/** … but for the examples of them that belong into a repository. */
const HARMLESS = /(^|\/)\.env\.(example|sample|template|dist|defaults?|test)$|\.pub$/i;

export const isKeyFile = (path: string): boolean => NEVER.test(path) && !HARMLESS.test(path);

/** Loaded with the first commit, not with every command. */
let library:
  | Promise<(path: string, content: string) => Promise<{ line: number; id: string; rule: string }[]>>
  | undefined;

async function loadLibrary() {
  const [{ secretLintProfiler }, { lintSource }, { creator }] = await Promise.all([
    import("@secretlint/profiler"),
    import("@secretlint/core"),
    import("@secretlint/secretlint-rule-preset-recommend"),
  ]);
  // It keeps a mark of every file it ever looked at, and measures between marks that may be gone: an error nobody catches.
  secretLintProfiler.mark = () => {};
  const config = { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: creator, options: {} }] };
  return async (filePath: string, content: string) => {
    const source = { filePath, content, ext: filePath.slice(filePath.lastIndexOf(".")), contentType: "text" as const };
    const { messages } = await lintSource({ source, options: { config, maskSecrets: true, locale: "en" } });
    return messages.map(({ loc, messageId, ruleId }) => ({ line: loc.start.line, id: messageId, rule: ruleId }));
  };
}

export async function findSecrets(path: string, content: string): Promise<Finding[]> {
  const found = new Map<number, Finding>();
  for (const [index, line] of content.split("\n").entries()) {
    const kind = line.length > 20_000 ? undefined : SECRET_FORMS.find(({ sure }) => sure.test(line))?.what;
    if (kind !== undefined) found.set(index + 1, { path, line: index + 1, what: kind });
  }
  library ??= loadLibrary();
  for (const { line, id, rule } of await (await library)(path, content)) {
    // Addresses with a password are looked for above, where examples are told from real ones.
    if (!rule.endsWith("basicauth") && !found.has(line)) found.set(line, { path, line, what: words(id) });
  }
  return [...found.values()];
}

const words = (id: string): string =>
  id
    .replaceAll(/_/g, " ")
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
