/** A model that is gone from its third call on, and a run that is stopped while the agent waits for it. */
import { expect } from "vitest";
import type { HeldRun } from "../../src/engine/held-run.js";
import type { Reply } from "../../src/rehearsal/reply.js";
import { planFiles } from "./plans.js";
import { type RehearsalOptions, rehearse, resumeRehearsal } from "./rehearsal.js";
import { git, scratchRepo } from "./scratch.js";

/** Refused, the agent tries again by itself; else nothing comes at all. */
const GONE: Record<"refused" | "silent", Reply> = {
  refused: { type: "error", status: 500, error: "server_error", message: "nobody is here" },
  silent: { type: "hang" },
};

/** The run ends long before the agent's own patience would, and goes on in the same conversation when it is resumed. */
export async function expectStopsWhileWaiting(
  agent: NonNullable<RehearsalOptions["agent"]>,
  how: keyof typeof GONE,
): Promise<void> {
  const repo = scratchRepo(planFiles([{ id: "1", tasks: 3, gates: ["true"] }]));
  let held: HeldRun | undefined;
  let [calls, isGone] = [0, true];
  const stop = (): void => held?.run.append({ type: "stop-requested", by: "test", cause: "asked" });
  const run = await rehearse({
    repo,
    agent,
    onHeld: (begun) => {
      held = begun;
    },
    behave: (request, worker) => {
      if ((request.tools ?? []).length === 0 || ++calls < 3 || !isGone) return worker(request);
      if (how === "silent") stop();
      return GONE[how];
    },
    onEvent: (event) => {
      if (event.type === "warned" && event.message.includes("tries again by itself")) setImmediate(stop);
    },
  });
  expect(run.status).toBe("stopped");
  expect(run.of("turn-ended").at(-1)?.end.type).toBe("called-off");
  expect(run.of("session-ended").map(({ reason }) => reason)).toEqual(["killed"]);
  isGone = false;
  expect(await resumeRehearsal(run)).toBe("completed");
  expect(run.of("session-started").at(-1)?.resumed).toBe(true);
  expect(run.done).toEqual(["1/1.1", "1/1.2", "1/1.3"]);
  expect(git(repo, "status", "--porcelain")).toBe("");
}
