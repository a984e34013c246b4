import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findSecrets, isKeyFile } from "../../src/secrets/find.js";

/** Chance that is the same each time; no secret stands in this file, they are made here. */
let seed = 11;
const random = (n: number): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % n;
};
const of = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[random(alphabet.length)]).join("");
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS = "0123456789";
const LOWER = UPPER.toLowerCase();
const ALL = UPPER + LOWER + DIGITS;

const KINDS: Record<string, () => string> = {
  "AWS access key": () => `AKIA${of(`${UPPER}234567`, 16)}`,
  "GitHub token": () => `ghp_${of(ALL, 36)}`,
  "Slack token": () => `xoxb-${of(DIGITS, 12)}-${of(DIGITS, 13)}-${of(ALL, 24)}`,
  "Anthropic key": () => `sk-ant-api03-${of(ALL, 93)}AA`,
  "OpenAI key": () => `sk-proj-${of(ALL, 48)}`,
  "Google key": () => `AIza${of(ALL, 35)}`,
  "GitLab token": () => `glpat-${of(ALL, 20)}`,
  "npm token": () => `npm_${of(ALL, 36)}`,
  "Stripe key": () => `sk_live_${of(ALL, 24)}`,
  "private key": () => `-----BEGIN RSA PRIVATE KEY-----\n${of(ALL, 64)}\n${of(ALL, 64)}\n-----END RSA PRIVATE KEY-----`,
  "database password": () => `postgres://app:${of(ALL, 16)}@db.${of(LOWER, 6)}.internal:5432/app`,
};
const PLACES: [string, (secret: string) => string][] = [
  ["src/config.ts", (secret) => `export const settings = {\n  token: ${JSON.stringify(secret)},\n};\n`],
  [
    "config/settings.yaml",
    (secret) => `service:\n  url: https://api.example.com\n  credential: ${JSON.stringify(secret)}\n`,
  ],
  ["test/client.test.ts", (secret) => `test("it works", () => {\n  const client = connect(\`${secret}\`);\n});\n`],
];

describe("secrets", () => {
  test("a hundred of eleven kinds, in code, configuration and tests: every one is found, with its line", async () => {
    const kinds = Object.entries(KINDS);
    const missed: string[] = [];
    for (let n = 0; n < 100; n++) {
      const [kind, make] = kinds[n % kinds.length] as (typeof kinds)[number];
      const [path, wrap] = PLACES[n % PLACES.length] as (typeof PLACES)[number];
      const found = await findSecrets(path, wrap(make()));
      if (found.length === 0) missed.push(`${kind} in ${path}`);
      else expect(found[0]?.line).toBe(path.endsWith(".yaml") ? 3 : 2);
    }
    expect(missed).toEqual([]);
  });

  test("no false stop on ordinary files: this repository's own, and those of libraries it uses", async () => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    const folders = [
      "src",
      "docs",
      "bench",
      "node_modules/hono/dist",
      "node_modules/commander",
      "node_modules/yaml",
      "node_modules/commander",
    ];
    const hits: string[] = [];
    let files = 0;
    for (const folder of folders) {
      for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
        const path = join(root, folder, name);
        if (!/\.(js|ts|mjs|json|md|yaml)$/.test(name) || statSync(path).size > 500_000) continue;
        files++;
        for (const { line, what } of await findSecrets(name, readFileSync(path, "utf8")))
          hits.push(`${path}:${line}: ${what}`);
      }
    }
    expect(files).toBeGreaterThan(500);
    expect(hits).toEqual([]);
  });

  test.each([
    ".env",
    "app/.env.local",
    "deploy/id_rsa",
    "certs/server.key",
    "a/b.pem",
    "store.p12",
    "service-account.json",
  ])("%s is a key file", (path) => {
    expect(isKeyFile(path)).toBe(true);
  });

  test.each([".env.example", "id_rsa.pub", "src/keys.ts", "docs/environment.md", "keyboard.js"])(
    "%s is not",
    (path) => {
      expect(isKeyFile(path)).toBe(false);
    },
  );
});
