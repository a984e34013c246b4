/**
 * Ways to pass that look wrong. None of them proves anything; all of them are worth a look, and those that undermine what
 * judges the phase are worth a question to whoever made them.
 */
import type { ChangedFile } from "../run/changed-file.js";
import type { Suspicion } from "../run/event.js";
import { type Hunk, hunksOf, type PatchLine } from "./patch.js";

export interface Inspected {
  files: readonly Pick<ChangedFile, "path" | "kind">[];
  /** The phase's change as a patch. */
  diff: string;
  /** Commands of the phase's gates, with how long they took when they passed, newest last. */
  gates: readonly { name: string; command: string; times: readonly number[] }[];
  /** The phase as the user wrote it: what it names is asked for. */
  phaseText: string;
}

const FRACTION = 0.1;
const WORTH_TIMING_MS = 2_000;
const TEST_FILE = /(^|\/)(tests?|__tests__|spec|specs)\/|[._-](test|spec)\.\w+$|(^|\/)test_[^/]+\.py$|_test\.\w+$/i;
const SKIPS = [
  /\b(it|test|describe|context)\.(skip|todo)\b|\bx(it|describe)\s*\(/,
  /@pytest\.mark\.(skip|xfail)|pytest\.skip\(|@unittest\.skip/,
  /@(Disabled|Ignore)\b/,
  /\bt\.Skip(Now|f)?\(/,
  /#\[ignore\]/,
];
/** Files that say how tests and checks are run, and nothing else. */
const RUNNER =
  /(^|\/)(pytest\.ini|tox\.ini|conftest\.py|biome\.jsonc?|ruff\.toml|mypy\.ini|\.eslintrc[^/]*|eslint\.config\.\w+|(vitest|jest|playwright|mocha|karma)[\w.]*\.(config|setup|conf)\.\w+|\.mocharc[^/]*|\.coveragerc|\.nycrc[^/]*|codecov\.ya?ml|phpunit\.xml[^/]*|\.rspec)$/;
/** Files that say that among much else: only lines about it count. */
const MANIFEST =
  /(^|\/)(pyproject\.toml|setup\.cfg|Cargo\.toml|go\.mod|Makefile|justfile|tsconfig[^/]*\.json|noxfile\.py|build\.gradle(\.kts)?|pom\.xml|\.pre-commit-config\.yaml)$|(^|\/)\.github\/workflows\//;
const ABOUT_CHECKS =
  /test|lint|coverage|ruff|mypy|pyright|strict|fail_?-?under|threshold|addopts|\bcheck|exclude|ignore/i;
/** What lets a command pass although something in it failed. */
const WEAK =
  /\|\|\s*(true|:|exit 0)\b|\|\|\s*:|;\s*exit 0\b|continue-on-error:\s*true|--passWithNoTests|--exit-zero|\bset \+e\b/;
const SCRIPTED = /(^|\/)(package\.json|Makefile|justfile|tox\.ini|noxfile\.py)$|\.(sh|bash|ya?ml|mk)$/;
/** A number below which a check fails, and one above which it does. */
const AT_LEAST =
  /\b(fail_?-?under|thresholds?|min(?:imum)?[_-]?(?:coverage|score)|branches|functions|lines|statements)["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)/i;
const AT_MOST = /max-?_?warnings["']?[\s:=]+["']?(\d+)/i;

/** Kinds that take something away from what judges the phase: whoever did it is asked. */
const UNDERMINING: ReadonlySet<Suspicion["kind"]> = new Set([
  "tests-removed",
  "tests-skipped",
  "gate-changed",
  "gate-weakened",
]);

export const undermines = ({ kind }: Suspicion): boolean => UNDERMINING.has(kind);

export function suspicionsIn({ files, diff, gates, phaseText }: Inspected): Suspicion[] {
  const found: Suspicion[] = [];
  if (files.length === 0) found.push({ kind: "no-change", text: "it is called completed, and git shows no change" });
  for (const { name, times } of gates) {
    const usual = middle(times.slice(0, -1));
    const last = times.at(-1);
    if (usual === undefined || last === undefined || usual < WORTH_TIMING_MS || last > usual * FRACTION) continue;
    found.push({ kind: "fast-gate", text: `the gate "${name}" passed in ${last} ms, and usually takes ${usual} ms` });
  }
  const isNew = new Set(files.filter(({ kind }) => kind === "A").map(({ path }) => path));
  const hunks = hunksOf(diff);
  const say = (kind: Suspicion["kind"], what: string, places: readonly string[]): void => {
    const unasked = places.filter((place) => !names(phaseText, place.replace(/:\d+$/, "")));
    if (unasked.length > 0) found.push({ kind, text: `${what}: ${some(unasked)}` });
  };
  const removed = files.filter(({ path, kind }) => kind === "D" && TEST_FILE.test(path)).map(({ path }) => path);
  say("tests-removed", "tests were deleted", removed);
  const added = hunks.flatMap((hunk) => hunk.added);
  say(
    "tests-skipped",
    "tests are skipped",
    added.filter(({ text }) => SKIPS.some((form) => form.test(text))).map(placeOf),
  );
  const old = hunks.filter(({ added: [first], removed: [gone] }) => !isNew.has((first ?? gone)?.file ?? ""));
  say("gate-changed", "what gates are made of was changed", [
    ...new Set([...byFile(files, gates), ...old.flatMap((hunk) => changedChecks(hunk, gates))]),
  ]);
  say("gate-weakened", "a check was made weaker", [...new Set(hunks.flatMap((hunk) => weakened(hunk)))]);
  return found;
}

const placeOf = ({ file, line }: PatchLine): string => `${file}:${line}`;

/** A gate's own script: whatever is changed in it counts, and where the patch is too long its name alone. */
const byFile = (files: Inspected["files"], gates: Inspected["gates"]): string[] =>
  files
    .filter(({ path, kind }) => kind !== "A" && gates.some(({ command }) => mentions(command, path)))
    .map(({ path }) => path);

function changedChecks({ removed, added }: Hunk, gates: Inspected["gates"]): string[] {
  const [first] = [...added, ...removed];
  if (first === undefined || gates.length === 0) return [];
  const { file } = first;
  if (/(^|\/)package\.json$/.test(file)) return removed.filter((line) => isScriptOf(line, gates)).map(placeOf);
  // What is only added to a runner's settings may still leave something out.
  if (RUNNER.test(file))
    return removed.length > 0 || added.some(({ text }) => ABOUT_CHECKS.test(text)) ? [placeOf(first)] : [];
  // Another threshold in its place is looked at as such.
  const gone = removed.filter(({ text }) => ABOUT_CHECKS.test(text) && !isReplaced(text, added));
  return MANIFEST.test(file) ? gone.map(placeOf) : [];
}

const isReplaced = (text: string, added: readonly PatchLine[]): boolean => {
  const key = AT_LEAST.exec(text)?.[1];
  return key !== undefined && added.some((line) => AT_LEAST.exec(line.text)?.[1] === key);
};

/** A script that a gate runs; npm's own placeholder is no loss. */
function isScriptOf({ text }: PatchLine, gates: Inspected["gates"]): boolean {
  const name = /^\s*"([\w:.-]+)"\s*:\s*"/.exec(text)?.[1];
  if (name === undefined || text.includes("no test specified")) return false;
  const plain = name.replace(/^(pre|post)(?=test|\w+:)/, "");
  return gates.some(({ command }) => new RegExp(`\\b(npm|pnpm|yarn|bun)\\b.*\\b${escaped(plain)}\\b`).test(command));
}

function weakened({ removed, added }: Hunk): string[] {
  const weak = added.filter(
    ({ file, text }) => SCRIPTED.test(file) && WEAK.test(text) && !removed.some((line) => WEAK.test(line.text)),
  );
  const lowered = added.filter(({ text }) => {
    const now = AT_LEAST.exec(text);
    const before = removed.map((line) => AT_LEAST.exec(line.text)).find((match) => match?.[1] === now?.[1]);
    const most = AT_MOST.exec(text)?.[1];
    const mostBefore = removed.map((line) => AT_MOST.exec(line.text)?.[1]).find((match) => match !== undefined);
    return (
      (now !== null && before !== null && before !== undefined && Number(now[2]) < Number(before[2])) ||
      (most !== undefined && mostBefore !== undefined && Number(most) > Number(mostBefore))
    );
  });
  return [...weak, ...lowered].map(placeOf);
}

/** Whether a text speaks of a file: by its path, or by its name alone. */
const names = (text: string, path: string): boolean =>
  text.includes(path) || new RegExp(`(^|[\\s\`'"(])${escaped(path.slice(path.lastIndexOf("/") + 1))}\\b`).test(text);

const escaped = (text: string): string => text.replaceAll(/[.*+?^$()|[\]{}\\]/g, "\\$&");

const mentions = (command: string, path: string): boolean =>
  command.split(/[\s'"=;|&()]+/).some((word) => word.replace(/^\.\//, "") === path);

const some = (places: readonly string[]): string =>
  `${places.slice(0, 5).join(", ")}${places.length > 5 ? `, and ${places.length - 5} more` : ""}`;

const middle = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export const isDocumentation = (path: string): boolean => /\.(md|mdx|rst|adoc|txt)$|(^|\/)docs?\//i.test(path);
