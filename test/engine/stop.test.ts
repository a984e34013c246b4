/** Stop means stop: whatever a run waits for, it ends within seconds, and nothing of it is left. */
import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { HeldRun } from "../../src/engine/held-run.js";
import type { RunEvent } from "../../src/run/event.js";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, type Rehearsed, rehearse, resumeRehearsal } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";

/** Stops the run as soon as an event fits; a run that waits on would run into the test's time limit. */
function stopAt(fits: (event: RunEvent) => boolean): NonNullable<RehearsalOptions["onEvent"]> {
  let stopped = false;
  return (event, held) => {
    if (stopped || held === undefined || !fits(event)) return;
    stopped = true;
    setImmediate(() => stop(held));
  };
}
const stop = ({ run }: HeldRun): void => run.append({ type: "stop-requested", by: "test", cause: "asked" });

const expectStopped = (run: Rehearsed): void => {
  expect(run.status).toBe("stopped");
  expect(run.of("time-reached")).toEqual([]);
};

describe.concurrent("a stop ends what is waited for", () => {
  test("the question about a failed phase, with nothing else to do", async () => {
    const repo = scratchRepo(
      planFiles([
        { id: "1", gates: ["false"] },
        { id: "2", dependsOn: ["1"] },
      ]),
    );
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: stopAt((event) => event.type === "question-asked"),
    });
    expectStopped(run);
    expect(run.of("question-asked")[0]?.kind).toBe("failure");
  });

  test("a slow gate: it is ended, is no verdict, and runs again after a resume", async () => {
    const slow = "test -f released || sleep 600";
    const repo = scratchRepo({ ...planFiles([{ id: "1", gates: [slow] }]), ".gitignore": "released\n" });
    const run = await rehearse({
      repo,
      config: { gates_before: false },
      onEvent: stopAt((event) => event.type === "command-issued" && event.command.type === "run-gate"),
    });
    expectStopped(run);
    expect(run.of("gate-finished")).toEqual([]);
    expect(run.of("command-abandoned").map(({ why }) => why)).toEqual(["the run was asked to stop"]);
    writeFileSync(`${repo}/released`, "");
    expect(await resumeRehearsal(run)).toBe("completed");
    expect(run.done).toEqual(["1/1.1"]);
  });

  test("gates before the first phase", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["touch begun; sleep 600"] }]));
    const begun = () => existsSync(`${repo}/begun`);
    const run = await rehearse({
      repo,
      config: { gates_before: true },
      onHeld: (held) => void eventually("the gate runs", begun).then(() => stop(held)),
    });
    expectStopped(run);
    expect(run.of("phase-started")).toEqual([]);
  });

  test("the set-up of a worktree: the phase has not begun, and is no failure", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2" }]));
    const run = await rehearse({
      repo,
      config: { parallel: 2, worktree_setup: "sleep 600" },
      onEvent: stopAt((event) => event.type === "command-issued" && event.phase === "2"),
    });
    expectStopped(run);
    expect(run.of("phase-failed")).toEqual([]);
  });

  test("a usage limit", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }, { id: "2", dependsOn: ["1"] }]));
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const run = await rehearse({
      repo,
      onEvent: (event, held) => {
        if (event.type === "phase-started")
          setImmediate(() => held?.run.append({ type: "limit-reached", until, message: "test" }));
        if (event.type === "limit-reached" && held !== undefined) setImmediate(() => stop(held));
      },
    });
    expectStopped(run);
  });
});
