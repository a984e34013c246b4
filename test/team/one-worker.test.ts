/** One worker of a team, in this process, from the first phase to the last. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { workForTeam } from "../../src/team/worker.js";
import { eventually } from "../support/eventually.js";
import { whyNoPostgres } from "../support/postgres.js";
import { git } from "../support/scratch.js";
import { teamOfOne } from "../support/team-of-one.js";

const PHASES = ["1", "2", "3"].map((id) => ({ id, tasks: 2, gates: [`test -f out/${id}-2.txt`] }));
const LAST = { id: "4", dependsOn: ["1", "2", "3"], gates: ["test $(ls out | wc -l) -eq 7"] };

describe.skipIf(whyNoPostgres() !== undefined)("a team of one", () => {
  test("does all phases of a plan, each once, on the remote's branch, and leaves the user's clone alone", async () => {
    const { repo, remote, run, machine, done, said, events, workUntilOver } = await teamOfOne([...PHASES, LAST]);
    await workUntilOver();
    expect(
      events.map(({ type }) => type),
      said.join("\n"),
    ).toContain("run-completed");
    expect(done.toSorted()).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2", "3/3.1", "3/3.2", "4/4.1"]);
    const branch = `segno/${run}`;
    expect(git(remote, "ls-tree", "-r", "--name-only", branch, "out").split("\n")).toHaveLength(7);
    expect(git(remote, "show", `${branch}:PLAN.md`)).not.toContain("Pending");
    expect(git(remote, "log", "--first-parent", "--format=%s", branch).split("\n")).toHaveLength(5);
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(git(repo, "branch", "--format=%(refname:short)")).toBe("main");
    // Nothing of it is left but its branch and the journal; on the worker's machine that is seen to when it next looks.
    const refs = (place: string) => git(place, "for-each-ref", "--format=%(refname)");
    expect(refs(remote).split("\n")).toEqual(["refs/heads/main", `refs/heads/${branch}`]);
    expect(refs(repo)).not.toContain("segno-remote");
    const clone = join(machine.folder, "work");
    expect(refs(clone)).toContain(run);
    const again = new AbortController();
    const working = workForTeam(machine, again.signal);
    await eventually("it is taken away", () => !existsSync(join(machine.folder, "runs", run)));
    again.abort();
    await working;
    for (const place of [clone, join(machine.folder, "conductor.git")])
      expect(refs(place).replaceAll(/^refs\/remotes.*$/gm, "")).not.toContain(run);
    expect(git(clone, "worktree", "list").split("\n")).toHaveLength(1);
  });
});
