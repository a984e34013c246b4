// The command line as few files: what a command needs is loaded at once, and nothing else. Libraries that look for files
// of their own, or are large and rarely used, stay outside.
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const top = fileURLToPath(new URL("..", import.meta.url));
const OUTSIDE = [
  "@anthropic-ai/claude-agent-sdk",
  "@github/copilot-sdk",
  "@secretlint/core",
  "@secretlint/profiler",
  "@secretlint/secretlint-rule-preset-recommend",
  "ink",
  "open",
  "react",
];

for (const folder of ["cli", "agents"]) rmSync(join(top, "dist", folder), { recursive: true, force: true });
const [bundle] = [
  await build({
    configFile: false,
    logLevel: "warn",
    root: top,
    ssr: { noExternal: true, external: OUTSIDE },
    build: {
      ssr: true,
      outDir: join(top, "dist"),
      emptyOutDir: false,
      target: "node20",
      minify: "oxc",
      reportCompressedSize: false,
      rollupOptions: {
        // The list of agents is an entry of its own, so that one can be added from outside.
        input: {
          "cli/main": join(top, "src/cli/main.ts"),
          "cli/warden-sweep": join(top, "src/engine/warden-sweep.ts"),
          "agents/registry": join(top, "src/agents/registry.ts"),
        },
        // All in one folder, so that what stands beside them is found from each.
        output: { entryFileNames: "[name].js", chunkFileNames: "cli/[name]-[hash].js" },
      },
    },
  }),
].flat();

chmodSync(join(top, "dist/cli/main.js"), 0o755);
writeFileSync(join(top, "dist/THIRD-PARTY.txt"), licences(bundle.output));

/** What is inside belongs to others: their names and licences. */
function licences(chunks) {
  const names = new Set();
  for (const { moduleIds = [] } of chunks)
    for (const id of moduleIds) {
      const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(id) ?? [];
      if (name !== undefined) names.add(name);
    }
  return [...names].sort().map(licenceOf).join("\n\n");
}

function licenceOf(name) {
  const folder = join(top, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text =
    file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim() : "";
  return `${name} ${version} (${license})\n\n${text}`.trim();
}
