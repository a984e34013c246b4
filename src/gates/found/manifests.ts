/** Checks that a project's manifests name: what each kind of project runs, by the files it has. */
import { type FoundCheck, lineOf, type ProjectFiles } from "./check.js";

type Look = (files: ProjectFiles) => FoundCheck[];

const found = (name: string, command: string, where: string, safe = true): FoundCheck => ({
  name,
  command,
  where,
  safe,
});

/** Scripts by what they are for; the first that is there counts. */
const SCRIPTS: [string, string[]][] = [
  ["tests", ["test"]],
  ["typecheck", ["typecheck", "type-check", "types", "check-types", "tsc"]],
  ["lint", ["lint"]],
  ["build", ["build"]],
];
/** Scripts that prove nothing, or never end. */
/** Scripts that change what they look at. */
const WRITES = /--fix\b|--write\b|--update\b|--updateSnapshot\b|(^|\s)-[uw]\b|--apply\b/;
const PLACEHOLDER =
  /no test specified|^\s*(echo\b[^|&;]*|true|exit [01])\s*(&&\s*exit [01]\s*)?$|--watch(All)?\b(?!=false)|\bnodemon\b/i;

const npm: Look = (files) => {
  const source = files.read("package.json");
  if (source === undefined) return [];
  let scripts: Record<string, unknown>;
  try {
    scripts = (JSON.parse(source) as { scripts?: Record<string, unknown> }).scripts ?? {};
  } catch {
    return [];
  }
  const manager = MANAGERS.find(([lock]) => files.exists(lock))?.[1] ?? "npm";
  return SCRIPTS.flatMap(([name, words]) => {
    const word = words.find((each) => typeof scripts[each] === "string");
    if (word === undefined || PLACEHOLDER.test(String(scripts[word]))) return [];
    const command = word === "test" && manager !== "bun" ? `${manager} test` : `${manager} run ${word}`;
    return [
      found(
        name,
        command,
        `package.json:${lineOf(source, new RegExp(`"${word}"\\s*:`))}`,
        name !== "build" && !WRITES.test(String(scripts[word])),
      ),
    ];
  });
};

const MANAGERS: [string, string][] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];

const python: Look = (files) => {
  const project = files.read("pyproject.toml") ?? "";
  const setup = files.read("setup.cfg") ?? "";
  const runner =
    files.read("uv.lock") !== undefined ? "uv run " : files.read("poetry.lock") !== undefined ? "poetry run " : "";
  const has = (part: RegExp): boolean => part.test(project);
  const named = (tool: string): string | undefined => wanted(tool).exec(project)?.[0];
  const checks: FoundCheck[] = [];
  if (files.read("tox.ini") !== undefined) checks.push(found("tests", `${runner}tox`, "tox.ini"));
  else if (files.read("noxfile.py") !== undefined) checks.push(found("tests", `${runner}nox`, "noxfile.py"));
  else if (has(/^\[tool\.pytest/m)) checks.push(found("tests", `${runner}pytest`, place(project, /^\[tool\.pytest/m)));
  else if (files.read("pytest.ini") !== undefined) checks.push(found("tests", `${runner}pytest`, "pytest.ini"));
  else if (/^\[tool:pytest\]/m.test(setup)) checks.push(found("tests", `${runner}pytest`, "setup.cfg"));
  else if (named("pytest") !== undefined)
    checks.push(found("tests", `${runner}pytest`, place(project, wanted("pytest"))));
  if (has(/^\[tool\.mypy/m)) checks.push(found("typecheck", `${runner}mypy .`, place(project, /^\[tool\.mypy/m)));
  else if (files.read("mypy.ini") !== undefined) checks.push(found("typecheck", `${runner}mypy .`, "mypy.ini"));
  else if (named("mypy") !== undefined)
    checks.push(found("typecheck", `${runner}mypy .`, place(project, wanted("mypy"))));
  if (has(/^\[tool\.ruff/m)) checks.push(found("lint", `${runner}ruff check .`, place(project, /^\[tool\.ruff/m)));
  else if (files.read("ruff.toml") !== undefined) checks.push(found("lint", `${runner}ruff check .`, "ruff.toml"));
  else if (named("ruff") !== undefined)
    checks.push(found("lint", `${runner}ruff check .`, place(project, wanted("ruff"))));
  return checks;
};

/** Among what a project needs: `"pytest>=8"`. */
const wanted = (tool: string): RegExp => new RegExp(`["']${tool}(?:[\\s<>=~!;[][^"']*)?["']`);

const place = (source: string, part: RegExp): string => `pyproject.toml:${lineOf(source, part)}`;

const rust: Look = (files) => {
  const source = files.read("Cargo.toml");
  if (source === undefined) return [];
  const lints = files.read("clippy.toml") !== undefined || /^\[(workspace\.)?lints\.clippy\]/m.test(source);
  return [
    found("tests", "cargo test", "Cargo.toml"),
    ...(lints ? [found("lint", "cargo clippy --all-targets -- -D warnings", "Cargo.toml")] : []),
  ];
};

const go: Look = (files) =>
  files.read("go.mod") === undefined
    ? []
    : [found("tests", "go test ./...", "go.mod"), found("lint", "go vet ./...", "go.mod")];

const jvm: Look = (files) => {
  const wrapped = (wrapper: string, otherwise: string): string =>
    files.read(wrapper) === undefined ? otherwise : `./${wrapper}`;
  if (files.read("pom.xml") !== undefined) return [found("tests", `${wrapped("mvnw", "mvn")} -q test`, "pom.xml")];
  const gradle = ["build.gradle.kts", "build.gradle"].find((file) => files.read(file) !== undefined);
  return gradle === undefined ? [] : [found("tests", `${wrapped("gradlew", "gradle")} test`, gradle)];
};

/** Of just, which a recipe does without: `test *ARGS:`, `test FILTER="":`. */
const LEFT_OUT = "(?:\\s+(?:[*]\\w+|[\\w$]+\\s*=\\s*\\S+))*";

/** Targets of Make and recipes of just, called as they are; `parameters`: what may stand behind a name. */
const targets =
  (program: string, names: readonly string[], parameters = ""): Look =>
  (files) => {
    const file = names.find((name) => files.read(name) !== undefined);
    const source = file === undefined ? "" : (files.read(file) ?? "");
    return TARGETS.flatMap(([name, words]) => {
      const called = (each: string): RegExp => new RegExp(`^${each}${parameters}\\s*:(?!=)`, "m");
      const word = words.find((each) => called(each).test(source));
      if (word === undefined) return [];
      return [found(name, `${program} ${word}`, `${file}:${lineOf(source, called(word))}`)];
    });
  };

const TARGETS: [string, string[]][] = [
  ["tests", ["test", "tests", "check"]],
  ["typecheck", ["typecheck", "types"]],
  ["lint", ["lint"]],
];

/** It installs what it runs, and may change files: somebody has to want that. */
const preCommit: Look = (files) =>
  files.read(".pre-commit-config.yaml") === undefined
    ? []
    : [found("pre-commit", "pre-commit run --all-files", ".pre-commit-config.yaml", false)];

const LOOKS: readonly Look[] = [npm, python, rust, go, jvm];
/** They call what the others name, where there is something to call. */
const WRAPPERS: readonly Look[] = [
  targets("make", ["Makefile", "makefile", "GNUmakefile"]),
  targets("just", ["justfile", "Justfile", ".justfile"], LEFT_OUT),
];

export function inManifests(files: ProjectFiles): FoundCheck[] {
  const checks = LOOKS.flatMap((look) => look(files));
  for (const look of WRAPPERS)
    checks.push(...look(files).filter(({ name }) => !checks.some((check) => check.name === name)));
  return [...checks, ...preCommit(files)];
}
