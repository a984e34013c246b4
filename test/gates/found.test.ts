/** The project's own checks: by what a project has, each with where it was found. */
import { describe, expect, test } from "vitest";
import { foundChecks } from "../../src/gates/found/checks.js";

const inProject = (files: Record<string, string>, texts: { file: string; text: string }[] = []) =>
  foundChecks(
    {
      read: (path) => files[path],
      exists: (path) => files[path] !== undefined,
      list: (folder) => Object.keys(files).filter((path) => path.startsWith(`${folder}/`)),
    },
    texts,
  );
const brief = (files: Record<string, string>) =>
  inProject(files).map(({ name, command, where, safe }) => `${name}: ${command} (${where})${safe ? "" : " ?"}`);

const scripts = (each: Record<string, string>) => JSON.stringify({ scripts: each }, null, 2);

describe("manifests", () => {
  test.each<[string, Record<string, string>, string[]]>([
    [
      "npm",
      { "package.json": scripts({ test: "vitest run", "type-check": "tsc", lint: "eslint .", build: "tsc -b" }) },
      [
        "tests: npm test (package.json:3)",
        "typecheck: npm run type-check (package.json:4)",
        "lint: npm run lint (package.json:5)",
        "build: npm run build (package.json:6) ?",
      ],
    ],
    ["pnpm", { "package.json": scripts({ test: "x" }), "pnpm-lock.yaml": "" }, ["tests: pnpm test (package.json:3)"]],
    ["yarn", { "package.json": scripts({ lint: "x" }), "yarn.lock": "" }, ["lint: yarn run lint (package.json:3)"]],
    ["bun", { "package.json": scripts({ test: "x" }), "bun.lock": "" }, ["tests: bun run test (package.json:3)"]],
    ["a placeholder", { "package.json": scripts({ test: 'echo "Error: no test specified" && exit 1' }) }, []],
    ["a watcher", { "package.json": scripts({ test: "jest --watch" }) }, []],
    [
      "a script that writes",
      { "package.json": scripts({ lint: "eslint . --fix", test: "jest -u" }) },
      ["tests: npm test (package.json:4) ?", "lint: npm run lint (package.json:3) ?"],
    ],
    ["no JSON", { "package.json": "{" }, []],
    [
      "Python with uv",
      { "pyproject.toml": "[project]\n\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n", "uv.lock": "" },
      [
        "tests: uv run pytest (pyproject.toml:3)",
        "typecheck: uv run mypy . (pyproject.toml:5)",
        "lint: uv run ruff check . (pyproject.toml:4)",
      ],
    ],
    [
      "Python tools that are only needed",
      { "pyproject.toml": '[dependency-groups]\ndev = ["pytest>=8", "ruff"]\n' },
      ["tests: pytest (pyproject.toml:2)", "lint: ruff check . (pyproject.toml:2)"],
    ],
    [
      "just, with what may be left out",
      { justfile: "test *ARGS:\n  x\n\nlint NAME:\n  x\n" },
      ["tests: just test (justfile:1)"],
    ],
    ["tox", { "tox.ini": "[tox]", "pyproject.toml": "[tool.pytest]" }, ["tests: tox (tox.ini)"]],
    ["cargo", { "Cargo.toml": "[package]" }, ["tests: cargo test (Cargo.toml)"]],
    ["go", { "go.mod": "module x" }, ["tests: go test ./... (go.mod)", "lint: go vet ./... (go.mod)"]],
    ["Maven", { "pom.xml": "<x/>", mvnw: "" }, ["tests: ./mvnw -q test (pom.xml)"]],
    ["Gradle", { "build.gradle": "" }, ["tests: gradle test (build.gradle)"]],
    [
      "Make, where nothing else tests",
      { Makefile: "all: x\n\ntest: all\n\t./run\n\nlint:\n\tx\n" },
      ["tests: make test (Makefile:3)", "lint: make lint (Makefile:6)"],
    ],
    [
      "Make over npm",
      { "package.json": scripts({ test: "x" }), Makefile: "test:\n\tnpm test\nlint:\n\tx\n" },
      ["tests: npm test (package.json:3)", "lint: make lint (Makefile:3)"],
    ],
    ["just", { justfile: "test:\n  x\n" }, ["tests: just test (justfile:1)"]],
    [
      "pre-commit, which may change files",
      { ".pre-commit-config.yaml": "repos: []" },
      ["pre-commit: pre-commit run --all-files (.pre-commit-config.yaml) ?"],
    ],
  ])("%s", (_, files, expected) => {
    expect(brief(files)).toEqual(expected);
  });
});

test("what workflows and words name is shown, and never run because it stands there", () => {
  const workflow =
    "on: push\njobs:\n  a:\n    steps:\n      - run: npm ci\n      - run: npm run test:e2e\n      - run: |\n          npm publish\n          make check\n      - run: deploy $" +
    "{{ secrets.KEY }} --test\n";
  expect(brief({ ".github/workflows/ci.yml": workflow })).toEqual([
    "ci: npm run test:e2e (.github/workflows/ci.yml:6) ?",
    "ci 2: make check (.github/workflows/ci.yml:9) ?",
  ]);
  const words = [{ file: "PLAN.md", text: "# P\n\nVerify with `npm run e2e`.\n\n**Run:** `ls`\n" }];
  expect(inProject({}, words)).toEqual([{ name: "said", command: "npm run e2e", where: "PLAN.md:3", safe: false }]);
  expect(brief({ ".github/workflows/x.yml": "\t: [" })).toEqual([]);
});
