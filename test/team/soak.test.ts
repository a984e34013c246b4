/** Thirty faults at random, in as many runs as they take. `SOAK_SEED=n` takes the same ones again. */
import { renameSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { whyNoPostgres } from "../support/postgres.js";
import { beginTeamRun, endsWell, NAMES, planOf, type TeamRun } from "../support/team-run.js";

const PHASES = planOf(8, 4);
const FAULTS = Number(process.env.SOAK_FAULTS ?? 30);
const seed = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

/** A small generator: the same seed gives the same faults. */
function random(from: number): (below: number) => number {
  let state = from;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

type Fault = (team: TeamRun, name: string, pick: (below: number) => number) => Promise<void>;

const FAULT: Record<string, Fault> = {
  "kill a worker": (team, name) => team.restart(name),
  "kill the conductor": async (team) => team.restart((await team.conductor()) || "a"),
  "kill two": async (team, name) => {
    const other = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length] ?? "a";
    await Promise.all([team.restart(name), team.restart(other)]);
  },
  "stop and continue": async (team, name, pick) => {
    const { worker } = team.member(name);
    worker.kill("SIGSTOP");
    await sleep(2_000 + pick(14_000));
    worker.kill("SIGCONT");
  },
  "cut a line": async (team, name, pick) => {
    const { line } = team.member(name).machine;
    line.cut();
    await sleep(1_000 + pick(12_000));
    line.mend();
  },
  "lose answers": async (team) => {
    for (const name of NAMES) team.member(name).machine.line.loseNextAnswer();
  },
  "stop the database": async (team, _, pick) => {
    await team.team.server.stop();
    await sleep(500 + pick(9_000));
    await team.team.server.start();
  },
  "take the remote away": async (team, _, pick) => {
    const { remote } = team.team;
    renameSync(remote, `${remote}.away`);
    await sleep(500 + pick(6_000));
    renameSync(`${remote}.away`, remote);
  },
};

const say = (text: string): void => void process.stderr.write(`${text}\n`);

describe.skipIf(whyNoPostgres() !== undefined)("a soak", () => {
  test(`${FAULTS} faults, seed ${seed}`, { timeout: 0 }, async () => {
    const pick = random(seed);
    const names = Object.keys(FAULT);
    let left = FAULTS;
    let redone = 0;
    for (let runs = 1; left > 0; runs++) {
      const team = await beginTeamRun(PHASES, { tenths: 12, slots: 1 });
      let over = false;
      void team.run.ended.then(() => {
        over = true;
      });
      await team.run.event((event) => event.type === "call-made");
      const done: string[] = [];
      while (!over && left > 0) {
        await sleep(500 + pick(3_000));
        if (over) break;
        const fault = names[pick(names.length)] ?? "";
        const name = NAMES[pick(NAMES.length)] ?? "a";
        done.push(`${fault} (${name})`);
        left--;
        await FAULT[fault]?.(team, name, pick);
      }
      say(`run ${runs}: ${done.length} faults: ${done.join(", ")}`);
      const ended = await endsWell(team, PHASES, { redone: done.length * 6 });
      say(`run ${runs}: completed, ${ended.redone} of ${33} tasks begun again`);
      redone += ended.redone;
      expect(runs).toBeLessThan(40);
    }
    say(`${FAULTS} faults, seed ${seed}: all completed, ${redone} tasks begun again`);
  });
});
