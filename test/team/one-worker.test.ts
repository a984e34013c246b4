/** One worker of a team, in this process, from the first phase to the last. */
import { describe, expect, test } from "vitest";
import { whyNoPostgres } from "../support/postgres.js";
import { git } from "../support/scratch.js";
import { teamOfOne } from "../support/team-of-one.js";

const PHASES = ["1", "2", "3"].map((id) => ({ id, tasks: 2, gates: [`test -f out/${id}-2.txt`] }));
const LAST = { id: "4", dependsOn: ["1", "2", "3"], gates: ["test $(ls out | wc -l) -eq 7"] };

describe.skipIf(whyNoPostgres() !== undefined)("a team of one", () => {
  test("does all phases of a plan, each once, on the remote's branch, and leaves the user's clone alone", async () => {
    const { repo, remote, run, done, said, events, workUntilOver } = await teamOfOne([...PHASES, LAST]);
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
  });
});
