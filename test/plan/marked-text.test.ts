import { describe, expect, test } from "vitest";
import { markedText } from "../../src/plan/marked-text.js";
import { namedTask } from "../../src/plan/named-task.js";

const task = (id: string, title: string) => ({ id, title, ticked: false, file: "PLAN.md", line: 1 });

describe("a phase's text with its tasks as they stand", () => {
  test("every box has its mark and its id, whatever the plan wrote there; the rest is as it was", () => {
    const text =
      "Read this.\n\n- [ ] **1.1**: Create `a.ts`\n  with care\n- [x] Create `b.ts`\n* [ ] 3) Twice\n1. [ ] Twice\n";
    const tasks = [
      task("1.1", "Create `a.ts`"),
      task("1.2", "Create `b.ts`"),
      task("3", "Twice"),
      task("1.4", "Twice"),
    ];
    expect(markedText({ text, tasks }, new Set(["1.1", "1.4"]))).toBe(
      "Read this.\n\n- [x] 1.1 Create `a.ts`\n  with care\n- [ ] 1.2 Create `b.ts`\n* [ ] 3 Twice\n1. [x] 1.4 Twice",
    );
  });

  test("where a task has no box, nothing is marked", () => {
    expect(markedText({ text: "- [ ] a\n", tasks: [task("1", "a"), task("2", "b")] }, new Set())).toBeUndefined();
    expect(markedText({ text: "no tasks", tasks: [] }, new Set())).toBe("no tasks");
  });
});

describe("a task that is not named by its id", () => {
  const tasks = [task("1.1", "Create the `parser`"), task("1.10", "Test the parser"), task("1.2", "Write the README")];

  test.each([
    ["1.1", "1.1"],
    ["Task 1.10", "1.10"],
    ["1.10: Test the parser", "1.10"],
    ["write the readme", "1.2"],
    ["create the parser", "1.1"],
    ["the parser", undefined],
    ["1.3", undefined],
    ["1.1x", undefined],
    ["", undefined],
  ])("%s is %s", (said, id) => {
    expect(namedTask(tasks, said)).toBe(id);
  });
});
