import { expect, test } from "vitest";
import { issuesIn } from "../../src/gates/issues.js";

test.each([
  ["vitest", " Test Files  1 failed (1)\n      Tests  3 failed | 10 passed (13)", 3],
  ["jest", "Tests:       2 failed, 5 passed, 7 total", 2],
  ["node", "# tests 9\n# pass 5\n# fail 4", 4],
  ["pytest", "FAILED tests/a.py::test_x - assert\n===== 4 failed, 2 passed in 1.20s =====", 4],
  ["go", "--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL", 2],
  ["cargo", "test result: FAILED. 8 passed; 5 failed; 0 ignored", 5],
  ["mocha", "  12 passing (20ms)\n  6 failing", 6],
  ["eslint", "✖ 17 problems (15 errors, 2 warnings)", 17],
  ["tsc", "src/a.ts(1,2): error TS2322: x\nsrc/b.ts(3,4): error TS2345: y", 2],
  ["ruff, mypy", "Found 7 errors in 2 files (checked 9 source files)", 7],
  ["pyright", "5 errors, 1 warning, 0 informations", 5],
  ["rspec", "10 examples, 2 failures", 2],
  ["anything else", "it does not work", 1],
])("%s", (_, output, issues) => {
  expect(issuesIn(output)).toBe(issues);
});
