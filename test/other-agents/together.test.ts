/** Agents of several vendors in one run, with the real programs. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { CODEX, eventsOf, OPENCODE, site } from "../support/segno.js";

const startedIn = (ended: Parameters<typeof eventsOf>[0]): string[] =>
  eventsOf(ended).flatMap((event) =>
    event.type === "session-started" ? [`${event.phase} ${event.purpose} ${event.agent}`] : [],
  );

describe.skipIf(!existsSync(CODEX) || !existsSync(OPENCODE))("agents of several vendors in one run", () => {
  test("phases at once, each with another agent: every task once, each credited in its own commit", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 2, gates: ["test -f out/1-2.txt"] },
        { id: "2", tasks: 2, gates: ["test -f out/2-2.txt"], fields: "**Agent:** codex" },
        { id: "3", tasks: 2, gates: ["test -f out/3-2.txt"], fields: "**Agent:** opencode" },
      ]),
    );
    const place = await site({ repo, agent: "claude", others: ["codex", "opencode"] });
    const ended = await place.segno(["run", "PLAN.md", "--json", "--parallel", "3"]).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    expect(startedIn(ended).toSorted()).toEqual(["1 work claude", "2 work codex", "3 work opencode"]);
    expect(place.done.toSorted()).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2", "3/3.1", "3/3.2"]);
    const credits = git(repo, "log", "--format=%(trailers:key=Co-Authored-By,valueonly)");
    for (const name of ["Claude (", "Codex (", "opencode ("]) expect(credits).toContain(name);
    expect(git(repo, "status", "--porcelain")).toBe("");
    const status = await place.segno(["status"]).ended;
    for (const name of ["claude", "codex", "opencode"]) expect(status.stdout).toContain(name);
  });

  test("a phase that Codex wrote is judged by Claude Code", async () => {
    const repo = scratchRepo({
      ...planFiles([{ id: "1", tasks: 2, gates: ["test -f out/1-2.txt"] }]),
      ".segno/config.yaml": "verify: agent\nagents:\n  verify: claude\n  work: codex\n  remediate: codex\n",
    });
    const place = await site({ repo, agent: "claude", others: ["codex"] });
    const ended = await place.segno(["run", "PLAN.md", "--json"]).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    expect(startedIn(ended)).toEqual(["1 work codex", "1 verify claude"]);
    const [, ...reviews] = eventsOf(ended).filter(({ type }) => type === "session-ended");
    expect(reviews).toHaveLength(1);
    expect(git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By,valueonly)")).not.toContain("Claude");
  });

  test("a rehearsal with all of them", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", tasks: 2 },
        { id: "2", tasks: 2, fields: "**Agent:** codex" },
        { id: "3", tasks: 2, fields: "**Agent:** opencode" },
      ]),
    );
    const place = await site({ repo, agent: "claude", others: ["codex", "opencode"] });
    const ended = await place.segno(["rehearse", "PLAN.md", "--plain"]).ended;
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout).toContain("6 tasks done by the stand-in model, 0 of them more than once");
  });
});
