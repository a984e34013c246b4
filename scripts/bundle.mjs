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
  "pg",
  "pg-boss",
  "open",
  "react",
];

const dist = join(top, "dist");
for (const folder of ["cli", "agents", "tui", "code-cache"])
  rmSync(join(dist, folder), { recursive: true, force: true });

const bundled = async (input, output, plugins = []) =>
  [
    await build({
      configFile: false,
      logLevel: "warn",
      root: top,
      plugins,
      ssr: { noExternal: true, external: OUTSIDE },
      build: {
        ssr: true,
        outDir: dist,
        emptyOutDir: false,
        target: "node20",
        minify: "oxc",
        reportCompressedSize: false,
        rollupOptions: { input, output },
      },
    }),
  ].flat();

/** The tables behind wide characters take 25 ms to make, and hardly any line needs them: made when one does. */
const wideCharactersLate = {
  name: "wide-characters-late",
  transform(code, id) {
    if (!id.endsWith("/string-width/index.js")) return undefined;
    const late = code
      .replace(
        "const segmenter = new Intl.Segmenter();",
        "let made; const segmenter = { segment: (text) => (made ??= new Intl.Segmenter()).segment(text) };",
      )
      .replace(
        /const rgiEmojiRegex = (.*);/,
        "let emoji; const rgiEmojiRegex = { test: (text) => (emoji ??= $1).test(text) };",
      );
    if (!late.includes("made ??=") || !late.includes("emoji ??=")) throw new Error(`${id} is not as it was`);
    return late;
  },
};

/** What V8 kept of a script has lost the way to `import()`: a file of its own, which is never kept, goes it instead. */
const importsByFile = {
  name: "imports-by-file",
  renderChunk(code) {
    const imports = [];
    const walk = (node) => {
      if (node === null || typeof node !== "object") return;
      if (node.type === "ImportExpression") imports.push(node);
      for (const part of Array.isArray(node) ? node : Object.values(node)) walk(part);
    };
    walk(this.parse(code));
    let changed = code;
    for (const { start } of imports.sort((a, b) => b.start - a.start)) {
      if (!changed.startsWith("import(", start)) throw new Error(`no import at ${start}`);
      changed = `${changed.slice(0, start)}require("./import.js")${changed.slice(start + "import".length)}`;
    }
    return imports.length === 0 ? undefined : changed;
  },
};

// Scripts, not modules: only what V8 made of scripts can be kept (src/cli/code-cache.ts).
const commandLine = await bundled(
  {
    "cli/main": join(top, "src/cli/main.ts"),
    "cli/program": join(top, "src/cli/program.ts"),
    "cli/deadman": join(top, "src/team/deadman.ts"),
    "cli/warden-sweep": join(top, "src/engine/warden-sweep.ts"),
    // An entry of its own, so that an agent can be added from outside.
    "agents/registry": join(top, "src/agents/registry.ts"),
  },
  // All in one folder, so that what stands beside them is found from each.
  { format: "cjs", strict: true, entryFileNames: "[name].js", chunkFileNames: "cli/[name]-[hash].js" },
  [
    wideCharactersLate,
    importsByFile,
    {
      name: "live-screen",
      enforce: "pre",
      resolveId: (id) => (id.endsWith("/tui/show.js") ? { id: "../tui/show.mjs", external: true } : undefined),
    },
  ],
);
// The live screen's library loads itself asynchronously, which only modules can wait for.
const screen = await bundled(
  { "tui/show": join(top, "src/tui/show.ts") },
  { format: "es", entryFileNames: "[name].mjs", codeSplitting: false },
);
writeFileSync(join(dist, "cli/import.js"), "module.exports = (name) => import(name);\n");
writeFileSync(join(dist, "package.json"), '{ "type": "commonjs" }\n');

chmodSync(join(dist, "cli/main.js"), 0o755);
writeFileSync(join(dist, "THIRD-PARTY.txt"), licences([...commandLine, ...screen].flatMap(({ output }) => output)));

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
