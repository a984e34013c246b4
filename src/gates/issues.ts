/** How many things a failing gate complains about, as the usual runners count them; one where none can be counted. */
const COUNTS: RegExp[] = [
  // vitest, jest: "Tests  3 failed | 10 passed"; node's own runner, tap: "# fail 3"
  /^\s*Tests:?\s+(\d+) failed/m,
  /^# fail (\d+)/m,
  // pytest: "=== 4 failed, 2 passed in 1.2s ==="; with errors beside them
  /^=+ .*?(\d+) failed\b.*=+$/m,
  /^=+ .*?(\d+) errors?\b.*=+$/m,
  // cargo, mocha, RSpec, minitest, PHPUnit, Maven, dotnet
  /test result: FAILED\. \d+ passed; (\d+) failed/m,
  /^\s*(\d+) failing\b/m,
  /\b\d+ examples?, (\d+) failures?/m,
  /\b\d+ runs?, \d+ assertions?, (\d+) failures?/m,
  /\bFailures: (\d+)/m,
  /\bFailed:\s+(\d+)/m,
  // eslint, stylelint; tsc, ruff, mypy, biome; pyright
  /✖ (\d+) problems?/m,
  /\bFound (\d+) (?:errors?|problems?|diagnostics?)/m,
  /^(\d+) errors?, \d+ warnings?/m,
];

/** Runners that only list them. */
const LISTED: RegExp[] = [
  /^--- FAIL: /gm,
  /^not ok \d+/gm,
  /^FAILED \S+::/gm,
  /^\S+\(\d+,\d+\): error TS\d+/gm,
  /^\S+:\d+:\d+: error\b/gm,
];

export function issuesIn(output: string): number {
  const counted = COUNTS.map((form) => Number(form.exec(output)?.[1] ?? 0));
  const listed = LISTED.map((form) => output.match(form)?.length ?? 0);
  return Math.max(1, ...counted, ...listed);
}
