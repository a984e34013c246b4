/** A phase that failed is begun again, and cannot be: what it left before is not forgotten. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { rehearse, resumeRehearsal } from "../support/rehearsal.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";

test("its place cannot be made ready, then it can: the newest work lands, and no task is done again", async () => {
  const marks = scratchFolder();
  const [broken, ready, log] = ["broken", "ready", "log"].map((name) => join(marks, name)) as [string, string, string];
  const repo = scratchRepo(
    planFiles([{ id: "1", tasks: 1, gates: [`echo x >> ${log}; cp ${log} tries.txt; test -f ${ready}`] }, { id: "2" }]),
  );
  const run = await rehearse({
    repo,
    config: { parallel: 2, max_remediations: 0, commit_on_failure: true, worktree_setup: `test ! -f ${broken}` },
  });
  writeFileSync(broken, "");
  expect(await resumeRehearsal(run)).toBe("failed");
  rmSync(broken);
  writeFileSync(ready, "");
  expect(await resumeRehearsal(run)).toBe("completed");
  expect(run.done.filter((task) => task.startsWith("1/"))).toEqual(["1/1.1"]);
  const started = run.events.flatMap((event) =>
    event.type === "phase-started" && event.phase === "1" ? [event.attempt] : [],
  );
  expect(started).toEqual([1, 3]);
  const { branch } = run.held.run.state;
  expect(git(repo, "show", `${branch}:tries.txt`).split("\n").length).toBeGreaterThan(1);
});
