/**
 * Whoever writes a word of each kind is killed at it: just before it is written, or just after; or is asked to end. Somebody
 * else goes on, and the run ends like an undisturbed one. With the agent in process.
 */
import { afterAll, describe, expect, test } from "vitest";
import type { Moment } from "../support/cut-line.js";
import { whyNoPostgres } from "../support/postgres.js";
import { beginTeamRun, endsWell, type TeamRun } from "../support/team-run.js";

/** Two at once, with a handover and a repair, and one that needs both. */
const PHASES = [
  { id: "1", tasks: 2, gates: ["test -f repaired.txt"] },
  { id: "2", tasks: 4, gates: ["test $(ls out/2-* | wc -l) -eq 4"] },
  { id: "3", tasks: 1, dependsOn: ["1", "2"], gates: ["test $(ls out | wc -l) -eq 7"] },
];
const HOW = { agent: "scripted", names: ["a", "b"], charsPerTask: 9_000, config: "context_limit: 36000\n" } as const;

type Event = Awaited<ReturnType<typeof endsWell>>["events"][number];

/** What stands in a batch on its way: JSON in the text of an array. */
const wordsOf = (event: Event): string => {
  const quoted = (text: string): string => JSON.stringify(text).replaceAll('"', '\\"');
  return event.type === "command-issued"
    ? `${quoted("command")}:{${quoted("type")}:${quoted(event.command.type)}`
    : `${quoted("type")}:${quoted(event.type)}`;
};

const nameOf = (event: Event): string =>
  event.type === "command-issued" ? `${event.type} ${event.command.type}` : event.type;

const begin = (): Promise<TeamRun> => beginTeamRun(PHASES, { ...HOW, names: [...HOW.names], tenths: 2 });

/** `KILLS=beside` takes a third of it. */
const MOMENTS = (
  [
    { when: "after", n: 1 },
    { when: "before", n: 2 },
    { when: "beside", n: 1 },
  ] as { when: Moment; n: number }[]
).filter(({ when }) => process.env.KILLS === undefined || process.env.KILLS === when);

const took: number[] = [];
const cells: string[] = [];

async function killAt(words: string, n: number, when: Moment): Promise<void> {
  const team = await begin();
  let killed: string | undefined;
  let at = 0;
  for (const name of HOW.names) {
    const member = team.member(name);
    const { machine, worker } = member;
    machine.line.atQuestion(words, n, when, () => {
      if (killed !== undefined) return;
      killed = name;
      at = Date.now();
      if (when === "beside") member.wasAsked = true;
      worker.kill(when === "beside" ? "SIGTERM" : "SIGKILL");
    });
  }
  const { events } = await endsWell(team, PHASES, { redone: when === "beside" ? 0 : 4 });
  // Another order may have fewer of it.
  if (n === 1) expect(killed).toBeDefined();
  if (killed === undefined) return;
  if (when === "beside") return void expect((await team.member(killed).worker.ended).code).toBe(0);
  const next = events.find(
    (event) =>
      (event.type === "run-taken" || event.type === "phase-taken") &&
      event.worker !== killed &&
      Date.parse(event.at) > at + 1_000,
  );
  if (next !== undefined) took.push((Date.parse(next.at) - at) / 1_000);
}

describe.skipIf(whyNoPostgres() !== undefined)("whoever writes it is killed", () => {
  test("at each kind of word", { timeout: 0 }, async () => {
    const team = await begin();
    const { events } = await endsWell(team, PHASES, { redone: 0 });
    const types = events.map(({ type }) => type);
    for (const type of ["checkpoint-saved", "merge-begun", "phase-merged"]) expect(types).toContain(type);
    expect(events.some((event) => event.type === "gate-finished" && !event.passed)).toBe(true);
    // Whoever begins a run is no worker.
    const byWorkers = events.slice(types.indexOf("run-taken"));
    const kinds = new Map(byWorkers.map((event) => [nameOf(event), event]));
    const waiting = [...kinds].flatMap(([name, event]) =>
      MOMENTS.map(({ when, n }) => ({ name, words: wordsOf(event), n, when })),
    );
    const failures: string[] = [];
    const take = async (): Promise<void> => {
      for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
        const { name, words, n, when } = cell;
        await killAt(words, n, when).catch((error: unknown) => {
          failures.push(`${when} ${name} (${n}): ${String(error).slice(0, 6_000)}`);
        });
        cells.push(name);
      }
    };
    await Promise.all([take(), take(), take(), take()]);
    expect(failures).toEqual([]);
  });

  afterAll(() => {
    const worst = took.length === 0 ? "" : `, somebody else went on after ${Math.max(...took).toFixed(1)} s at most`;
    process.stderr.write(`${cells.length} kills${worst}\n`);
  });
});
