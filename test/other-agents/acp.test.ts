/** A real agent through nothing but the Agent Client Protocol: opencode, as somebody else's that nobody has a recipe for. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { eventsOf, OPENCODE, site } from "../support/segno.js";

describe.skipIf(!existsSync(OPENCODE))("an agent that speaks ACP", () => {
  test("two phases, handed over by the count of its tools: every task once, gates, commits, marks; nothing is left", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 3, gates: ["test -f out/1-3.txt"] },
        { id: "2", tasks: 2, dependsOn: ["1"], gates: ["test -f out/2-2.txt"] },
      ]),
    );
    const place = await site({ repo, agent: "claude", others: ["opencode"], charsPerTask: 1_000 });
    const own = { SEGNO_MODEL: "", SEGNO_TOOL_CALL_THRESHOLD: "6" };
    const ended = await place.segno(["run", "PLAN.md", "--json", "--agent", `acp:${OPENCODE} acp`], { env: own }).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    const events = eventsOf(ended);
    expect(place.done.filter((task, at) => place.done.indexOf(task) === at)).toEqual([
      "1/1.1",
      "1/1.2",
      "1/1.3",
      "2/2.1",
      "2/2.2",
    ]);
    expect(events.filter(({ type }) => type === "checkpoint-saved").length).toBeGreaterThanOrEqual(1);
    expect(git(repo, "show", "HEAD:PLAN.md").match(/Completed/g)).toHaveLength(2);
    expect(git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By)")).toContain("opencode (own/");
    expect(git(repo, "status", "--porcelain")).toBe("");
    const first = events[0];
    const run = first?.type === "run-started" ? first.run : "";
    expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
  });
});
