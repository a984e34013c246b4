/** One short run with each other vendor's agent: what CI keeps of them beside the contract. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { CODEX, eventsOf, OPENCODE, site } from "../support/segno.js";

for (const [agent, program, title] of [
  ["codex", CODEX, "Codex"],
  ["opencode", OPENCODE, "opencode"],
] as const)
  describe.skipIf(!existsSync(program))(`a short run with ${title}`, () => {
    test("every task once, its gate, its commit, its mark; nothing is left running", async () => {
      const repo = scratchRepo(planFiles([{ id: "1", tasks: 2, gates: ["test -f out/1-2.txt"] }]));
      const place = await site({ repo, agent });
      const ended = await place.segno(["run", "PLAN.md", "--json"]).ended;
      expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
      expect(place.done).toEqual(["1/1.1", "1/1.2"]);
      expect(git(repo, "show", "HEAD:PLAN.md")).toContain("Completed");
      expect(git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By)")).toContain(`${title} (`);
      const first = eventsOf(ended)[0];
      const run = first?.type === "run-started" ? first.run : "";
      expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
    });
  });
