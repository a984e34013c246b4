import { describe, expect, test } from "vitest";
import { failedKind, isLimitText, resetOf } from "../../src/agents/claude/errors.js";
import { judgeCommand, numberIn } from "../../src/gates/judge.js";
import { type Inspected, suspicionsIn, undermines } from "../../src/gates/suspicion.js";
import { judgeVerdicts } from "../../src/handover/review.js";

const look = (more: Partial<Inspected>) =>
  suspicionsIn({ files: [{ path: "src/a.ts", kind: "M" }], diff: "", gates: [], phaseText: "", ...more }).map(
    ({ kind }) => kind,
  );
const patch = (file: string, removed: string[], added: string[]): string =>
  [
    `diff --git a/${file} b/${file}`,
    `--- a/${file}`,
    `+++ b/${file}`,
    `@@ -7,${removed.length} +7,${added.length} @@`,
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
  ].join("\n");
const gate = (times: number[], command = "npm test") => [{ name: "tests", command, times }];

describe("ways to pass that look wrong", () => {
  test("nothing changed", () => {
    expect(look({ files: [] })).toEqual(["no-change"]);
    expect(look({})).toEqual([]);
  });

  test("a gate far faster than usual, if it usually takes long enough to tell", () => {
    expect(look({ gates: gate([30_000, 28_000, 31_000, 900]) })).toEqual(["fast-gate"]);
    expect(look({ gates: gate([30_000, 28_000, 9_000]) })).toEqual([]);
    expect(look({ gates: gate([800, 900, 10]) })).toEqual([]);
    expect(look({ gates: gate([900]) })).toEqual([]);
  });

  test.each(["test/a.test.ts", "src/__tests__/a.js", "tests/test_x.py", "pkg/x_test.go", "spec/a_spec.rb"])(
    "a deleted test: %s",
    (path) => {
      expect(look({ files: [{ path, kind: "D" }] })).toEqual(["tests-removed"]);
    },
  );

  test.each([
    "it.skip('x', () => {})",
    "xdescribe('x', () => {})",
    "@pytest.mark.skip(reason='later')",
    "@Disabled",
    "t.Skip()",
    "#[ignore]",
  ])("a skipped test: %s", (line) => {
    const diff = `+++ b/test/a.test\n@@ -1 +1 @@\n-old\n+  ${line}`;
    expect(look({ diff })).toEqual(["tests-skipped"]);
    expect(look({ diff: diff.replace(`+  ${line}`, `-  ${line}`) })).toEqual([]);
  });

  test("a gate's own script or configuration changed; a new one is not suspicious", () => {
    expect(
      look({ files: [{ path: "scripts/check.sh", kind: "M" }], gates: gate([], "sh ./scripts/check.sh --all") }),
    ).toEqual(["gate-changed"]);
    expect(look({ files: [{ path: "scripts/check.sh", kind: "A" }], gates: gate([], "sh scripts/check.sh") })).toEqual(
      [],
    );
  });
});

describe("what judges a phase, undermined", () => {
  const changed = (file: string, removed: string[], added: string[], more: Partial<Inspected> = {}) =>
    suspicionsIn({
      files: [{ path: file, kind: "M" }],
      diff: patch(file, removed, added),
      gates: gate([]),
      phaseText: "",
      ...more,
    });

  test.each([
    ["package.json", ['  "test": "vitest run",'], ['  "test": "echo fine",'], "gate-changed", "package.json:7"],
    ["vitest.config.ts", ["  include: ['a'],"], ["  include: [],"], "gate-changed", "vitest.config.ts:7"],
    ["pytest.ini", [], ["addopts = --ignore=tests/hard"], "gate-changed", "pytest.ini:7"],
    ["pyproject.toml", ["strict = true"], [], "gate-changed", "pyproject.toml:7"],
    ["scripts/run.sh", ["npm test"], ["npm test || true"], "gate-weakened", "scripts/run.sh:7"],
    [".github/workflows/ci.yml", [], ["    continue-on-error: true"], "gate-weakened", ".github/workflows/ci.yml:7"],
    ["setup.cfg", ["fail_under = 90"], ["fail_under = 40"], "gate-weakened", "setup.cfg:7"],
    ["Makefile", ["\teslint --max-warnings 0 ."], ["\teslint --max-warnings 99 ."], "gate-weakened", "Makefile:7"],
  ])("%s: named with its line", (file, removed, added, kind, place) => {
    const found = changed(file, removed, added);
    expect(found.map((one) => one.kind)).toContain(kind);
    expect(found.find((one) => one.kind === kind)?.text).toContain(place);
    expect(found.filter(undermines).length).toBeGreaterThan(0);
  });

  test.each([
    ["a dependency added", "package.json", ['  "a": "1"'], ['  "a": "1",', '  "b": "2"']],
    [
      "a first test script",
      "package.json",
      ['  "test": "echo \\"Error: no test specified\\" && exit 1"'],
      ['  "test": "vitest"'],
    ],
    ["a threshold raised", "setup.cfg", ["fail_under = 40"], ["fail_under = 90"]],
    ["a dependency of a manifest", "pyproject.toml", ['requests = "1"'], ['requests = "2"']],
    ["ordinary code", "src/a.ts", ["return a || false;"], ["return a || true;"]],
  ])("%s is not", (_, file, removed, added) => {
    expect(changed(file, removed, added)).toEqual([]);
  });

  test("what the phase asks for is not, either", () => {
    const asked = { phaseText: "Change the test command in `package.json`." };
    expect(changed("package.json", ['  "test": "vitest run",'], ['  "test": "jest",'], asked)).toEqual([]);
  });
});

describe("a gate that must not decrease", () => {
  const judge = (stdout: string, before: number | undefined, exit = 0) =>
    judgeCommand({ exit, timedOut: false, minutes: 1, stdout }, { noDecrease: true, before });

  test("compares the number it prints with the one before the first phase", () => {
    expect(judge("coverage: 87.5%\n", 87.5)).toMatchObject({ passed: true });
    expect(judge("coverage: 87.4%\n", 87.5)).toEqual({ passed: false, why: "printed 87.4, before it was 87.5" });
    expect(judge("coverage: 12%\n", undefined)).toMatchObject({
      passed: true,
      why: expect.stringContaining("nothing to compare"),
    });
    expect(judge("no number", 3)).toMatchObject({ passed: false });
    expect(judge("99", 3, 1)).toEqual({ passed: false, why: "exit 1" });
    expect(numberIn("12 of 34 lines, -2.5 points")).toBe(-2.5);
  });
});

describe("what an error means", () => {
  test.each([
    ["authentication_failed", 401, "auth"],
    ["billing_error", 400, "auth"],
    ["model_not_found", 404, "model"],
    ["overloaded", 529, "api"],
    ["rate_limit", 429, "api"],
    ["unknown", 400, "request"],
    ["unknown", 503, "api"],
    [undefined, undefined, "api"],
  ] as const)("%s, status %s: %s", (error, status, kind) => {
    expect(failedKind(error, status)).toBe(kind);
  });

  test("limits are known by their words, and their end is read from them", () => {
    const now = new Date("2026-11-16T02:00:00Z");
    expect(isLimitText("You've hit your 5-hour limit · resets 4:27am (UTC)")).toBe(true);
    expect(isLimitText("Claude AI usage limit reached|1794803278")).toBe(true);
    expect(isLimitText("the test hit a wall")).toBe(false);
    expect(resetOf("resets 4:27am (UTC)", now)?.toISOString()).toBe("2026-11-16T04:27:00.000Z");
    expect(resetOf("resets 1am (UTC)", now)?.toISOString()).toBe("2026-11-17T01:00:00.000Z");
    expect(resetOf("limit reached|1794803278", now)?.getTime()).toBe(1_794_803_278_000);
    expect(resetOf("resets 3pm (Europe/Berlin)", now)).toBeUndefined();
  });
});

describe("a verdict", () => {
  const judged = (verdict: "pass" | "fail", evidence: string) => [
    { criterion: "It works", verdict, evidence, why: "w" },
  ];

  test("counts as met only with a file and line that exist", () => {
    const judge = (verdict: "pass" | "fail", evidence: string) =>
      judgeVerdicts(["It works."], judged(verdict, evidence), (path) => path === "src/a.ts")[0]?.passed;
    expect([
      judge("pass", "src/a.ts:3"),
      judge("pass", "src/a.ts"),
      judge("pass", "src/b.ts:3"),
      judge("fail", "src/a.ts:3"),
    ]).toEqual([true, false, false, false]);
    expect(judgeVerdicts(["It works", "It is fast"], judged("pass", "src/a.ts:3"), () => true)[1]).toMatchObject({
      passed: false,
      why: "it was not judged",
    });
  });
});
