/** SIGKILL at the moments when a run waits or writes: a resume ends like an undisturbed run. */
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../src/run/event.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { type SiteOptions, site } from "../support/segno.js";

const files = (gate: string) => planFiles([{ id: "1", tasks: 3, gates: [gate] }]);

async function killedAt(
  gate: string,
  fits: (event: RunEvent) => boolean,
  more: Partial<SiteOptions> = {},
  env: Record<string, string> = {},
) {
  const place = await site({ agent: "claude", repo: scratchRepo(files(gate)), ...more });
  const running = place.segno(["run", "PLAN.md", "--json"], { env });
  await running.event(fits);
  running.kill("SIGKILL");
  await running.ended;
  const resumed = await place.segno(["resume", "--json"], { env }).ended;
  expect(resumed.code).toBe(0);
  const tree = git(place.repo, "ls-tree", "-r", "--name-only", "HEAD")
    .split("\n")
    .filter((path) => path.startsWith("out/"));
  expect(tree).toEqual(["out/1-1.txt", "out/1-2.txt", "out/1-3.txt"]);
  expect(git(place.repo, "status", "--porcelain")).toBe("");
  expect(
    git(place.repo, "log", "--format=%s")
      .split("\n")
      .filter((line) => line.includes("✓")),
  ).toHaveLength(1);
  return { place, resumed };
}

describe.concurrent("SIGKILL, with the real Claude Code", () => {
  test("while waiting for a usage limit: the resume goes on waiting, then the same conversation goes on", async () => {
    let calls = 0;
    let until = 0;
    const { resumed } = await killedAt(
      "true",
      (event) => event.type === "limit-reached",
      {
        behave: (request, worker) => {
          if ((request.tools ?? []).length === 0 || ++calls !== 2) return worker(request);
          until = Math.floor(Date.now() / 1_000) + 12;
          return {
            type: "error",
            status: 429,
            error: "rate_limit_error",
            message: "limit",
            headers: {
              "anthropic-ratelimit-unified-status": "rejected",
              "anthropic-ratelimit-unified-reset": String(until),
              "anthropic-ratelimit-unified-representative-claim": "five_hour",
              "x-should-retry": "false",
            },
          };
        },
      },
      { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-made-up", ANTHROPIC_API_KEY: "" },
    );
    const started = resumed.stdout.split("\n").filter((line) => line.includes('"session-started"'));
    expect(started).toHaveLength(1);
    const event = JSON.parse(started[0] ?? "{}");
    expect(event.resumed).toBe(true);
    expect(Date.parse(event.at)).toBeGreaterThanOrEqual(until * 1_000);
  });

  test("while a gate runs", async () => {
    await killedAt("sleep 2; true", (event) => event.type === "command-issued" && event.command.type === "run-gate");
  });

  test("while committing", async () => {
    await killedAt("true", (event) => event.type === "command-issued" && event.command.type === "commit");
  });
});
