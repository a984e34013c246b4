/** A run whose journal lives elsewhere: facts on their way, and others who write meanwhile. */
import { describe, expect, test } from "vitest";
import { LiveRun } from "../../src/engine/live-run.js";
import type { Fact } from "../../src/run/event.js";
import { redactor } from "../../src/secrets/redact.js";
import { MemoryStore } from "../support/memory-store.js";
import { runStarted } from "../support/run-started.js";

const RUN = "20260101-000000-abcd";
const lease = { epoch: 1, redact: redactor({}) };
const STARTED: Fact = runStarted(
  { format: "master", title: "t", goal: "", file: "PLAN.md", files: ["PLAN.md"], phases: [] },
  {},
  { run: RUN },
);

async function begun(now?: () => Date) {
  const store = new MemoryStore(now);
  const run = new LiveRun(await store.create(RUN, lease), []);
  await run.record(STARTED);
  return { store, run };
}

describe("a live run", () => {
  test("own facts are folded at once, and are in the journal after a flush", async () => {
    const { store, run } = await begun();
    run.append({ type: "run-held", hold: "paused", by: "test" });
    expect(run.state.hold).toBe("paused");
    expect((await store.read(RUN)).events).toHaveLength(1);
    await run.flush();
    expect((await store.read(RUN)).events).toHaveLength(2);
  });

  test("a decision that somebody overtook is refused, and what they wrote is folded before it is decided anew", async () => {
    const { store, run } = await begun();
    const read = await store.read(RUN);
    if (!read.ok) throw new Error(read.why);
    const other = await store.open(RUN, lease);
    await other.submit([{ type: "stop-requested", by: "another machine", cause: "asked" }], () => {});
    expect(run.state.stopping).toBeUndefined();
    expect(await run.decide([{ type: "run-completed" }])).toBe(false);
    expect(run.state.status).toBe("running");
    expect(run.state.stopping?.by).toBe("another machine");
    expect(await run.decide([{ type: "run-stopped", why: "asked to stop" }])).toBe(true);
    expect(run.state.status).toBe("stopped");
  });

  test("only times that the store stamped move the run's clock", async () => {
    let hour = 0;
    const { run } = await begun(() => new Date(Date.parse("2026-01-01T00:00:00Z") + hour * 3_600_000));
    hour = 1;
    run.append({ type: "warned", message: "on its way" });
    expect(run.state.now).toBe("2026-01-01T00:00:00.000Z");
    await run.record({ type: "warned", message: "stamped" });
    expect(run.state.now).toBe("2026-01-01T01:00:00.000Z");
  });

  test("the same warning is said once", async () => {
    const { store, run } = await begun();
    run.warn("twice");
    run.warn("twice");
    await run.flush();
    expect((await store.read(RUN)).events.map(({ type }) => type)).toEqual(["run-started", "warned"]);
  });
});
