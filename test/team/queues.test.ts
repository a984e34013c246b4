/** Leases on a real PostgreSQL: a phase has one holder, whatever it needs from moment to moment. */
import { describe, expect, test } from "vitest";
import { openTeam } from "../../src/team/open.js";
import type { PhaseJob } from "../../src/team/queues.js";
import { teamDatabase, whyNoPostgres } from "../support/postgres.js";
import { whenOver } from "../support/scratch.js";

const JOB = { run: "r1", phase: "1" };
const BOTH = { agents: ["claude", "codex"], labels: [] };
const ONE = { agents: ["claude"], labels: [] };

describe.skipIf(whyNoPostgres() !== undefined)("the queues of phases", () => {
  test("a phase whose needs change is never in two of them, and never held twice", async () => {
    const team = await openTeam(await teamDatabase(), { repo: "r", worker: "w", supervises: false, migrates: true });
    whenOver(() => team.close());
    const { queues } = team;
    const take = async (offered: typeof BOTH) => queues.take<PhaseJob>(await queues.within("phases", offered));
    const ensure = async (needs: typeof BOTH) =>
      queues.ensurePhase(JOB, needs, (await queues.phasesOf(JOB.run)).get(JOB.phase) ?? []);
    await ensure(BOTH);
    const first = await take(BOTH);
    expect(first?.data).toEqual(JOB);
    // Held, it is offered nowhere else.
    await ensure(ONE);
    expect(await take(ONE)).toBeUndefined();
    if (first === undefined) throw new Error("nothing was taken");
    expect(await queues.isHeldElsewhere({ ...first, queue: "another" })).toBe(true);
    // Given up, it is only where it is wanted now.
    await queues.giveBack(first);
    await ensure(ONE);
    const second = await take(ONE);
    expect(second?.data).toEqual(JOB);
    expect(await take(BOTH)).toBeUndefined();
    if (second === undefined) throw new Error("nothing was taken");
    expect(await queues.isHeldElsewhere(second)).toBe(false);
    await queues.finish(second);
    await ensure(BOTH);
    expect((await take(BOTH))?.data).toEqual(JOB);
  });
});
