/** What comes too late: a holding that still ends when its phase is held anew, answers, lines that fall silent. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/agents/agent.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { eventually } from "../support/eventually.js";
import { whyNoPostgres } from "../support/postgres.js";
import { git } from "../support/scratch.js";
import { type TeamOfOne, teamOfOne } from "../support/team-of-one.js";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const slowly =
  (ms: number) =>
  (answers: Behaviour): Behaviour =>
  async (request) => {
    await pause(ms);
    return answers(request);
  };

/** As after a sleep of the machine: nobody gave a sign of life for long. */
const expire = (team: TeamOfOne): Promise<unknown> =>
  team.machine.database.query(
    "UPDATE pgboss.job SET heartbeat_on = now() - interval '60 s' WHERE state = 'active' AND data ? 'phase'",
  );

const inTheEnd = (team: TeamOfOne): string[] =>
  git(team.remote, "ls-tree", "-r", "--name-only", `segno/${team.run}`, "out").split("\n");

const holdings = async (team: TeamOfOne): Promise<number> =>
  (await team.read()).filter(({ type }) => type === "phase-taken").length;

describe.skipIf(whyNoPostgres() !== undefined)("what comes too late", () => {
  test("a phase that its worker gets again at once is begun when the last holding has ended", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 10 }], { behave: slowly(300) });
    const { agent } = (await team.machine.equipment({} as never)) as { agent: Agent };
    const open = agent.open.bind(agent);
    let opened = 0;
    let most = 0;
    agent.open = async (options) => {
      const session = await open(options);
      most = Math.max(most, ++opened);
      const close = session.close.bind(session);
      let closing: Promise<number> | undefined;
      // As Claude Code does it: its input is closed, and it is given some seconds.
      session.close = () => {
        closing ??= pause(3_000)
          .then(close)
          .finally(() => opened--);
        return closing;
      };
      return session;
    };
    const working = team.workUntilOver();
    await eventually("it works", () => team.done.length > 2);
    await eventually("it has it again", async () => {
      // A sign of life may come before anybody looks.
      await expire(team);
      return (await holdings(team)) > 1;
    });
    await working;
    expect(most).toBe(1);
    expect(inTheEnd(team)).toHaveLength(10);
    // It works on until it is closed.
    expect(team.done.length).toBeLessThan(20);
  });

  test("a holding that was lost while it began touches nothing any more", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 10 }], { behave: slowly(200) });
    const { machine } = team;
    const { queues } = machine;
    const equipment = machine.equipment.bind(machine);
    const touch = queues.touch.bind(queues);
    let isCut = false;
    queues.touch = async (job) => {
      if (isCut && "phase" in job.data && job.attempt.retryCount === 0) throw new Error("the line is cut");
      return touch(job);
    };
    let goOn = (): void => {};
    const waits = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let begins = 0;
    machine.equipment = async (state) => {
      // The first is the phase's: it hangs in what comes before the checkout is touched.
      if (begins++ === 1) await waits;
      return equipment(state);
    };
    const working = team.workUntilOver();
    await eventually("it begins", () => begins > 1);
    isCut = true;
    await expire(team);
    // It loses its lease after six seconds; somebody gets the job again long before it comes back.
    await pause(12_000);
    goOn();
    await working;
    expect(team.said.some((line) => line.includes("was not renewed in time"))).toBe(true);
    expect(inTheEnd(team)).toHaveLength(10);
    expect(team.done).toHaveLength(10);
  });

  test("an answer that comes when the job is somebody else's takes nothing from them", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 12 }], { behave: slowly(300) });
    const { queues } = team.machine;
    const look = queues.isHeldElsewhere.bind(queues);
    let looks = 0;
    queues.isHeldElsewhere = async (job) => {
      if (looks++ === 0) {
        await expire(team);
        await eventually("somebody else works", () => team.done.length > 4);
      }
      return look(job);
    };
    await team.workUntilOver();
    expect(await holdings(team)).toBe(1);
    expect(team.done).toHaveLength(12);
  });

  test("a line that falls silent is found again", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 6 }], { behave: slowly(300) });
    const working = team.workUntilOver();
    await eventually("it works", () => team.done.length > 1);
    team.line.silence();
    await working;
    expect(inTheEnd(team)).toHaveLength(6);
  });

  test("many phases over a slow line: no lease is lost to what the conductor asks", async () => {
    const phases = Array.from({ length: 12 }, (_, n) => ({ id: String(n + 1), tasks: 1 }));
    const team = await teamOfOne(phases);
    team.line.delayMs = 75;
    await team.workUntilOver();
    expect(await holdings(team)).toBe(12);
    expect(team.said.filter((line) => /lease|nothing new/.test(line) && !line.startsWith("works on"))).toEqual([]);
    expect(team.done).toHaveLength(12);
  });
});
