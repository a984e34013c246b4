/** A team as its users have it, with the agent in process: the built command on machines of their own. */
import { describe, expect, test } from "vitest";
import { PASSWORD, whyNoPostgres } from "../support/postgres.js";
import { git } from "../support/scratch.js";
import { overlaps, teamSite } from "../support/team.js";

const PHASES = ["1", "2", "3"].map((id) => ({ id, tasks: 3, gates: [`test -f out/${id}-3.txt`] }));
const LAST = { id: "4", dependsOn: ["1", "2", "3"], gates: ["test $(ls out | wc -l) -eq 10"] };

describe.skipIf(whyNoPostgres() !== undefined)("a team", () => {
  test("a plan on two machines, begun from a third; one of them is killed and the other goes on", async () => {
    const team = await teamSite({ phases: [...PHASES, LAST], tenths: 5 });
    const [a, b] = [await team.machine("a"), await team.machine("b")];
    const workers = [await team.worker(a, ["--slots", "2"]), await team.worker(b, ["--slots", "2"])];
    const run = team.segno(["run", "PLAN.md", "--team", "--json"]);
    const taken = await run.event((event) => event.type === "phase-taken" && event.worker === "a");
    await run.event((event) => event.type === "progress-reported" && "phase" in taken && event.phase === taken.phase);
    workers[0]?.kill("SIGKILL");
    const ended = await run.ended;
    expect(ended.code, ended.stdout.slice(-3_000) + ended.stderr + workers.map((each) => each.said()).join("\n")).toBe(
      0,
    );
    const events = await team.events();
    expect(events.filter(({ type }) => type === "phase-merged")).toHaveLength(4);
    expect(events.some((event) => event.type === "phase-taken" && event.worker === "b" && event.from === "a")).toBe(
      true,
    );
    expect(overlaps(team.beats())).toEqual([]);
    // The task in flight, and the one whose report went with the killed message.
    expect(team.done.length).toBeLessThanOrEqual(10 + 2 * 2);
    expect(new Set(team.done).size).toBe(10);
    const branch = git(team.remote, "for-each-ref", "--format=%(refname:short)", "refs/heads/segno");
    expect(git(team.remote, "ls-tree", "-r", "--name-only", branch, "out").split("\n")).toHaveLength(10);
    expect(JSON.stringify(events)).not.toContain(PASSWORD);
    workers[1]?.kill("SIGTERM");
    expect((await workers[1]?.ended)?.stdout).toContain("ended");
  });
});
