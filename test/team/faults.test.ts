/** What happens to machines, lines, the database and the remote while a team works: the run ends like an undisturbed one. */
import { execFileSync } from "node:child_process";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { whyNoPostgres } from "../support/postgres.js";
import { scratchFolder, whenOver } from "../support/scratch.js";
import { beginTeamRun, endsWell, NAMES, planOf, type TeamRun } from "../support/team-run.js";

const PHASES = planOf(4, 4);
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** What was measured is worth a line. */
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Somebody who works on a phase and does not conduct, and has finished a task of it. */
async function victim(team: TeamRun, conducts: boolean): Promise<string> {
  await team.run.event((event) => event.type === "progress-reported");
  const conductor = await team.conductor();
  if (conducts) return conductor;
  for (;;) {
    const holders = [...(await team.holders()).values()].filter((name) => name !== conductor);
    if (holders[0] !== undefined) return holders[0];
    await sleep(100);
  }
}

/** How long it took until somebody else had what the lost one held, in seconds. */
function takeovers(events: Awaited<ReturnType<typeof endsWell>>["events"], since: number): number[] {
  return events.flatMap((event) =>
    event.type === "phase-taken" && event.from !== undefined ? [(Date.parse(event.at) - since) / 1_000] : [],
  );
}

describe.skipIf(whyNoPostgres() !== undefined)("a team's run ends well", () => {
  test("nothing happens: twelve phases on three workers, all of which have some", async () => {
    const phases = planOf(11, 3);
    const { redone, events } = await endsWell(await beginTeamRun(phases), phases, { redone: 0 });
    expect(redone).toBe(0);
    const took = events.flatMap((event) => (event.type === "phase-taken" ? [event.worker] : []));
    expect(new Set(took)).toEqual(new Set(NAMES));
  });

  test("a worker is killed", async () => {
    const team = await beginTeamRun(PHASES);
    const name = await victim(team, false);
    const at = Date.now();
    team.member(name).worker.kill("SIGKILL");
    const { events, redone } = await endsWell(team, PHASES, { redone: 4 });
    const took = takeovers(events, at);
    expect(took.length).toBeGreaterThan(0);
    expect(Math.min(...took)).toBeLessThan(15);
    say(`killed worker: taken over after ${took.map((s) => s.toFixed(1)).join(", ")} s, ${redone} tasks twice`);
  });

  test("the conductor is killed", async () => {
    const team = await beginTeamRun(PHASES);
    const name = await victim(team, true);
    const at = Date.now();
    team.member(name).worker.kill("SIGKILL");
    const { events, redone } = await endsWell(team, PHASES, { redone: 4 });
    const next = events.findLast((event) => event.type === "run-taken");
    expect(next?.type === "run-taken" && next.worker).not.toBe(name);
    const took = (Date.parse(next?.at ?? "") - at) / 1_000;
    expect(took).toBeLessThan(15);
    say(`killed conductor: taken over after ${took.toFixed(1)} s, ${redone} tasks twice`);
  });

  test("who waits for a word of a conductor that was killed keeps the phase, and its session", async () => {
    const phases = planOf(2, 4);
    const team = await beginTeamRun(phases, { agent: "scripted", names: ["a", "b"], slots: 1 });
    const name = await victim(team, false);
    const [held] = [...(await team.holders())].find(([, holder]) => holder === name) ?? [];
    const at = Date.now();
    team.member(await team.conductor()).worker.kill("SIGKILL");
    const { events } = await endsWell(team, phases, { redone: 4 });
    const of = events.filter((event) => "phase" in event && event.phase === held);
    const turn = of.find(({ type }) => type === "turn-ended");
    const next = events.findLast(({ type }) => type === "run-taken");
    // Else nobody waited.
    expect(Date.parse(turn?.at ?? "") - at).toBeGreaterThan(0);
    expect(Date.parse(next?.at ?? "") - Date.parse(turn?.at ?? "")).toBeGreaterThan(3_500);
    expect(of.filter(({ type }) => type === "phase-taken")).toHaveLength(1);
    expect(of.flatMap((event) => (event.type === "session-ended" ? [event.reason] : []))).toEqual(["result"]);
  });

  test("both are killed at once, and come back", async () => {
    const team = await beginTeamRun(PHASES);
    const [worker, conductor] = [await victim(team, false), await victim(team, true)];
    for (const name of [worker, conductor]) team.member(name).worker.kill("SIGKILL");
    for (const name of [worker, conductor]) await team.restart(name);
    await endsWell(team, PHASES, { redone: 8 });
  });

  test("a worker is stopped for 30 s, and then goes on", async () => {
    const team = await beginTeamRun(PHASES, { tenths: 20 });
    const name = await victim(team, false);
    const { worker } = team.member(name);
    const at = Date.now();
    worker.kill("SIGSTOP");
    await sleep(30_000);
    worker.kill("SIGCONT");
    const { events } = await endsWell(team, PHASES, { redone: 4 });
    const took = takeovers(events, at);
    expect(Math.min(...took)).toBeLessThan(15);
    // What it had begun, it could not end.
    const back = at + 30_000;
    const late = team.team.beats().filter((beat) => beat.worker === name && beat.at > at + 8_500 && beat.at < back);
    expect(late).toEqual([]);
    say(`stopped worker: taken over after ${took.map((s) => s.toFixed(1)).join(", ")} s`);
  });

  test.each([5, 60])("a worker's line to the database is cut for %i s", async (seconds) => {
    const team = await beginTeamRun(PHASES, { tenths: seconds > 10 ? 20 : 8 });
    const name = await victim(team, false);
    const { line } = team.member(name).machine;
    line.cut();
    await sleep(seconds * 1_000);
    line.mend();
    await endsWell(team, PHASES, { redone: seconds > 7 ? 4 : 0 });
  });

  test("answers of the database are lost after it committed", async () => {
    const team = await beginTeamRun(PHASES);
    await victim(team, false);
    for (let n = 0; n < 6; n++) {
      for (const name of NAMES) team.member(name).machine.line.loseNextAnswer();
      await sleep(700);
    }
    const lost = NAMES.reduce((sum, name) => sum + team.member(name).machine.line.lost, 0);
    expect(lost).toBeGreaterThan(5);
    await endsWell(team, PHASES, { redone: 0 });
  });

  test("the database is stopped and started", async () => {
    const team = await beginTeamRun(PHASES);
    await victim(team, false);
    await team.team.server.stop();
    await sleep(4_000);
    await team.team.server.start();
    await endsWell(team, PHASES, { redone: 4 });
  });

  test("the remote cannot be reached for a minute", async () => {
    const team = await beginTeamRun(PHASES, { tenths: 3 });
    await victim(team, false);
    const { remote } = team.team;
    renameSync(remote, `${remote}.away`);
    await sleep(60_000);
    renameSync(`${remote}.away`, remote);
    await endsWell(team, PHASES, { redone: 0 });
  });

  test.skipIf(process.getuid?.() !== 0)("a worker's disk is full", async () => {
    const home = scratchFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=600m", "none", home]);
    whenOver(() => execFileSync("umount", ["-l", home]));
    const team = await beginTeamRun(PHASES, { homes: { b: home } });
    await team.run.event((event) => event.type === "phase-taken" && event.worker === "b");
    execFileSync("sh", ["-c", `dd if=/dev/zero of=${join(home, "full")} bs=1M 2>/dev/null || true`]);
    const { events } = await endsWell(team, PHASES, { redone: 6 });
    const after = events.findIndex((event) => event.type === "phase-let-go" && event.worker === "b");
    expect(after).toBeGreaterThan(0);
    expect(events.slice(after).some((event) => event.type === "phase-taken" && event.worker === "b")).toBe(false);
    expect(events.some(({ type }) => type === "stop-requested")).toBe(false);
  });

  test.skipIf(!existsSync(FAKETIME))("a worker's clock is an hour ahead", async () => {
    const env = { LD_PRELOAD: FAKETIME, FAKETIME: "+1h", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
    const team = await beginTeamRun(PHASES, {
      env: { b: env },
      // The agents have the right time, or do not start at all.
      config: 'env_deny: [LD_PRELOAD, "FAKETIME*"]\n',
    });
    await team.run.event((event) => event.type === "phase-taken" && event.worker === "b");
    const { events } = await endsWell(team, PHASES, { redone: 0 });
    const ahead = Date.now() + 30 * 60_000;
    expect(events.filter(({ at }) => Date.parse(at) > ahead)).toEqual([]);
  });
});
