/** What earlier versions recorded can be looked at, and taken up again to its end, in every later one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Recorded, recordedRuns, unpack } from "../support/recorded.js";
import { git } from "../support/scratch.js";
import { site } from "../support/segno.js";
import { isThorough } from "../support/thorough.js";

/** How each ended, and how many events it has. */
const STATUS: Record<string, string> = {
  plain: "completed",
  "parallel-split": "stopped",
  question: "running",
  limit: "running",
  failed: "failed",
  interrupted: "running",
};

const named = (recorded: Recorded): string => `${recorded.version}, ${recorded.name}`;

describe.concurrent("runs of earlier versions", () => {
  for (const recorded of recordedRuns()) {
    test(`${named(recorded)}: status, logs and report`, async () => {
      const repo = unpack(recorded);
      const place = await site({ repo });
      const status = await place.segno(["status", "--json"]).ended;
      expect(status.code, status.stderr).toBe(0);
      const shown = JSON.parse(status.stdout) as { run: string; status: string; phases: { id: string }[] };
      expect(shown.status).toBe(STATUS[recorded.name]);
      expect(shown.phases.map(({ id }) => id)).toEqual(
        recorded.name === "parallel-split" ? ["1", "2", "2a", "2b"] : ["1", "2"],
      );
      const words = await place.segno(["status"]).ended;
      expect(words.stdout).toContain("A recorded plan");
      const logs = await place.segno(["logs"]).ended;
      expect(logs.code, logs.stderr).toBe(0);
      expect(logs.stdout).toContain("A recorded plan: 2 phases");
      const html = join(repo, "..", "report.html");
      const report = await place.segno(["report", "--html", html]).ended;
      expect(report.code, report.stderr).toBe(0);
      expect(readFileSync(html, "utf8")).toContain("A recorded plan");
      expect(readdirSync(repo)).not.toContain("report.html");
    });
  }
});

/** What the stand-in still has to do when the run is taken up again. */
const LEFT: Record<string, { asks?: string; done: RegExp }> = {
  "parallel-split": { done: /out\/2-4\.txt/ },
  question: { asks: "pass", done: /out\/2-2\.txt/ },
  limit: { done: /out\/2-4\.txt/ },
  failed: { done: /repaired\.txt/ },
  interrupted: { done: /out\/2-4\.txt/ },
};

/** One that failed and one that was killed; the others are part of `test:complete`. */
const isTried = ({ name }: Recorded): boolean => isThorough || ["plain", "failed", "interrupted"].includes(name);

describe.concurrent("runs of earlier versions, taken up again in a clone that was moved", () => {
  for (const recorded of recordedRuns().filter(isTried)) {
    test(named(recorded), async () => {
      const repo = unpack(recorded);
      const place = await site({ repo });
      const running = place.segno(["resume", "--json"]);
      const left = LEFT[recorded.name];
      if (left === undefined) {
        const refused = await running.ended;
        expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining("nothing-to-resume")]);
        return;
      }
      if (left.asks !== undefined) {
        await running.event((event) => event.type === "question-asked");
        expect((await place.segno(["answer", left.asks]).ended).code).toBe(0);
      }
      const resumed = await running.ended;
      expect(resumed.code, resumed.stdout.slice(-3_000) + resumed.stderr).toBe(0);
      expect(git(repo, "ls-tree", "-r", "--name-only", "HEAD")).toMatch(left.done);
      expect(git(repo, "status", "--porcelain")).toBe("");
      expect(git(repo, "worktree", "list").split("\n")).toHaveLength(1);
      const status = JSON.parse((await place.segno(["status", "--json"]).ended).stdout) as {
        status: string;
        phases: { status: string; tasks: { done: number; total: number } }[];
      };
      expect(status.status).toBe("completed");
      for (const phase of status.phases) expect(phase.tasks.done).toBe(phase.tasks.total);
    });
  }
});
