/** Ways to pass that look wrong. None of them proves anything; all of them are worth a look. */
import type { ChangedFile } from "../run/changed-file.js";
import type { Suspicion } from "../run/event.js";

export interface Inspected {
  files: readonly Pick<ChangedFile, "path" | "kind">[];
  /** The phase's change as a patch. */
  diff: string;
  /** Commands of the phase's gates, with how long they took when they passed, newest last. */
  gates: readonly { name: string; command: string; times: readonly number[] }[];
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
/** Files that decide what a test run means. */
const CONFIGURATION =
  /(^|\/)(package\.json|pyproject\.toml|setup\.cfg|tox\.ini|pytest\.ini|conftest\.py|Makefile|justfile|Cargo\.toml|go\.mod|tsconfig[^/]*\.json|biome\.jsonc?|ruff\.toml|\.eslintrc[^/]*|eslint\.config\.\w+|(vitest|jest|playwright|mocha)[\w.]*\.(config|setup)\.\w+|\.mocharc[^/]*|\.coveragerc)$/;

export function suspicionsIn({ files, diff, gates }: Inspected): Suspicion[] {
  const found: Suspicion[] = [];
  if (files.length === 0) found.push({ kind: "no-change", text: "it is called completed, and git shows no change" });
  for (const { name, times } of gates) {
    const usual = middle(times.slice(0, -1));
    const last = times.at(-1);
    if (usual === undefined || last === undefined || usual < WORTH_TIMING_MS || last > usual * FRACTION) continue;
    found.push({ kind: "fast-gate", text: `the gate "${name}" passed in ${last} ms, and usually takes ${usual} ms` });
  }
  const removed = files.filter(({ path, kind }) => kind === "D" && TEST_FILE.test(path)).map(({ path }) => path);
  if (removed.length > 0) found.push({ kind: "tests-removed", text: `tests were deleted: ${some(removed)}` });
  const skipped = addedLines(diff).filter(({ line }) => SKIPS.some((form) => form.test(line)));
  if (skipped.length > 0)
    found.push({
      kind: "tests-skipped",
      text: `tests were skipped in ${some([...new Set(skipped.map(({ file }) => file))])}`,
    });
  const named = files.filter(
    ({ path, kind }) =>
      kind !== "A" &&
      (gates.some(({ command }) => mentions(command, path)) || (CONFIGURATION.test(path) && gates.length > 0)),
  );
  if (named.length > 0)
    found.push({
      kind: "gate-changed",
      text: `what gates are made of was changed: ${some(named.map(({ path }) => path))}`,
    });
  return found;
}

const mentions = (command: string, path: string): boolean =>
  command.split(/[\s'"=;|&()]+/).some((word) => word.replace(/^\.\//, "") === path);

const some = (names: readonly string[]): string => `${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`;

function addedLines(diff: string): { file: string; line: string }[] {
  const lines: { file: string; line: string }[] = [];
  let file = "";
  for (const line of diff.split("\n")) {
    if (line.startsWith("+++ ")) file = line.slice(4).replace(/^b\//, "");
    else if (line.startsWith("+")) lines.push({ file, line: line.slice(1) });
  }
  return lines;
}

const middle = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export const isDocumentation = (path: string): boolean => /\.(md|mdx|rst|adoc|txt)$|(^|\/)docs?\//i.test(path);
