/** What earlier versions recorded can be looked at, and taken up again to its end, in every later one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Recorded, recordedRuns, unpack } from "../support/recorded.js";
import { site } from "../support/segno.js";

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
