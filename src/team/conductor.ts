/**
 * Whoever holds the lease of a run decides what is done, and does one thing itself: it brings in what was tested, in a clone
 * that no agent comes near.
 *
 * Invariant: taking a run over is not taking it up again. What was asked, held, halted or failed stays so; what is in flight
 * is its worker's.
 */
import { RemoteRefuses } from "../engine/code-remote.js";
import { learnFrom } from "../engine/forecasting.js";
import { type HeldRun, heldRun } from "../engine/held-run.js";
import { LiveRun } from "../engine/live-run.js";
import { decideAndPerform } from "../engine/loop.js";
import { startNotifying } from "../engine/notify.js";
import { planFiles } from "../engine/plan-files.js";
import { reconcile } from "../engine/resume.js";
import { changedSinceParting, contains, mergedIn } from "../git/merge.js";
import { DEFAULT_TEXTS } from "../handover/templates.js";
import type { Command } from "../run/command.js";
import type { RunState } from "../run/state.js";
import { isEnding, isLimited, limitsNow, type Needs, needsOf, phasesNobodyCanTake } from "../run/team.js";
import { type HeldLease, withLease } from "./lease.js";
import { conductorClone, databaseClock, type Machine } from "./machine.js";
import type { RunJob, Taken } from "./queues.js";
import { forgetRun, TeamRemote } from "./remote.js";
import { whenAborted } from "./when-aborted.js";

const ENSURES_EVERY_MS = 1_000;
const LOOKS_EVERY_MS = 2_000;

type Landing = Extract<Command, { type: "merge-phase" }> & { lands: string };

/** What the conductor does itself; all else is done by whoever holds the phase. */
export const isLanding = (command: Command): command is Landing =>
  command.type === "merge-phase" && command.lands !== undefined;

/** The phase was skipped; or it or the run is to end, and this keeps nothing. */
function isUnwanted(state: RunState, { type, phase: id }: Command): boolean {
  const phase = state.phases.get(id);
  return (isEnding(state, id) && type !== "commit") || phase === undefined || phase.step === "skipped";
}

const needsText = ({ agents, labels }: Needs): string => [...agents, ...labels].join(" and ");

/** `ends`: the worker is about to end; somebody else goes on. */
export async function conductTeamRun(machine: Machine, job: Taken<RunJob>, ends: AbortSignal): Promise<void> {
  const { queues, store, longestLeaseMs: longestMs } = machine;
  await withLease(queues, job, { longestMs }, async (lease) => {
    const joined = await store.join(job.data.run, "", machine.redact, lease.holds);
    if (joined === undefined || joined.events.length === 0) return await queues.finish(job);
    const run = new LiveRun(joined.journal, joined.events);
    try {
      await conduct(machine, job, run, joined.epoch, lease, ends);
    } finally {
      await run.close().catch(() => {});
    }
  });
}

async function conduct(
  machine: Machine,
  job: Taken<RunJob>,
  run: LiveRun,
  epoch: number,
  lease: HeldLease,
  ends: AbortSignal,
): Promise<void> {
  const { store, queues, say, database, worker, url } = machine;
  const { run: id } = job.data;
  say(`conducts ${id}`);
  run.append({ type: "run-taken", worker, lease: epoch });
  const git = await conductorClone(machine, ends);
  const { branch } = run.state;
  const over = new AbortController();
  const signal = AbortSignal.any([lease.lost, over.signal]);
  const onTrouble = (why: string): void => run.warn(`${worker}: the git remote ${why}`);
  const remote = new TeamRemote({ git, url, run: id, branch, epoch, signal, onTrouble });
  const equipment = await machine.equipment(run.state);
  const warden = { watch: () => {}, unwatch: () => {}, dismiss: () => {} };
  const lock = { release: () => {} };
  const parts = { run, store, git, files: planFiles(git.top), texts: DEFAULT_TEXTS, lock, warden, interrupted: false };
  const held = heldRun(parts, equipment);
  held.remote = remote;
  learnFrom(held);
  const notices = startNotifying(held);
  const offerPhases = async (): Promise<void> => {
    const wanted = [...run.state.inFlight.values()].filter((command) => !isLanding(command));
    if (wanted.length === 0) return;
    const there = await queues.phasesOf(id);
    for (const command of wanted) {
      const { phase } = command;
      const jobs = there.get(phase) ?? [];
      if (!isUnwanted(run.state, command))
        await queues.ensurePhase({ run: id, phase }, needsOf(run.state, phase), jobs);
      // Nobody will begin it: what was issued for it came to nothing.
      else if (await queues.withdrawPhase(jobs)) run.append(...reconcile(run.state, phase));
    }
    for (const { phase, needs } of run.state.team?.workers.length ? phasesNobodyCanTake(run.state) : [])
      run.warn(`Phase ${phase} waits for a worker that has ${needsText(needs)}: none that is there has.`, phase);
  };
  const ensure = oneAfterAnother(offerPhases);
  const look = async (): Promise<void> => {
    const all = await store.workers();
    const workers = all.flatMap(({ worker, slots, agents, labels, lost }) =>
      lost ? [] : [{ worker, slots, agents, labels }],
    );
    const before = run.state.team?.workers ?? [];
    const lost = all.filter((each) => each.lost && before.some((one) => one.worker === each.worker));
    if (JSON.stringify(before) !== JSON.stringify(workers))
      run.append({ type: "workers-seen", workers, lost: lost.map((each) => each.worker) });
    const limited = await store.limitedAccounts();
    // Whoever met it may not have been able to say so there: until it is known, the phase is taken and let go again.
    for (const { agent, account, until } of limitsNow(run.state))
      if (!limited.some((each) => each.agent === agent && each.account === account))
        await store.limitAccount(agent, account, until);
    for (const { agent, account, until } of limited)
      if (workers.some(({ agents }) => agents[agent] === account) && !isLimited(run.state, agent, account))
        run.append({ type: "limit-reached", agent, account, until, message: "a usage limit that another run met" });
  };
  const performs = async (_: HeldRun, command: Command): Promise<void> => {
    if (isLanding(command)) await land(held, remote, command);
    else await ensure().catch(() => {});
  };
  const undo: (() => void)[] = [];
  const lost = new Promise<"lost" | "ends">((resolve) => {
    undo.push(whenAborted(lease.lost, () => resolve("lost")));
    for (const signal of [ends, lease.old]) undo.push(whenAborted(signal, () => resolve("ends")));
  });
  const conducting = async (): Promise<"over"> => {
    await look();
    // Whoever conducted it before may have ended in the middle of it.
    for (const command of run.state.inFlight.values()) if (isLanding(command)) await land(held, remote, command);
    await decideAndPerform(held, performs);
    return "over";
  };
  const clock = await databaseClock(database);
  held.now = clock.now;
  const again = setInterval(() => void ensure().catch(() => {}), ENSURES_EVERY_MS);
  const looking = setInterval(() => void look().catch(() => {}), LOOKS_EVERY_MS);
  try {
    const ended = await Promise.race([lost, conducting()]);
    if (ended === "over") {
      await notices.settle();
      await run.flush();
      await queues.finish(job);
      say(`${id} is ${run.state.status}`);
      // What was skipped is on no branch.
      const skipped = [...run.state.phases].flatMap(([phase, { step }]) => (step === "skipped" ? [phase] : []));
      if (run.state.status === "completed") await forgetRun(git, url, id, skipped);
    } else if (ended === "ends") {
      await run.flush();
      await queues.giveBack(job);
    }
  } finally {
    // What it began to bring in is its successor's.
    over.abort();
    for (const step of undo) step();
    clearInterval(again);
    clearInterval(looking);
    clock.stop();
  }
}

/** One at a time; whoever asks meanwhile has it done once more, after that. */
function oneAfterAnother(act: () => Promise<void>): () => Promise<void> {
  let acting: Promise<void> | undefined;
  let again = false;
  const actAll = async (): Promise<void> => {
    do {
      again = false;
      await act();
    } while (again);
  };
  return () => {
    if (acting !== undefined) again = true;
    acting ??= actAll().finally(() => {
      acting = undefined;
    });
    return acting;
  };
}

/** Moves the run's branch to what was tested, if it still stands where that was made. */
async function land(held: HeldRun, remote: TeamRemote, { id, phase, attempt, lands }: Landing): Promise<void> {
  const { run, git } = held;
  const { branch, plan, head } = run.state;
  await remote.fetch();
  const { base, tip } = await mergedIn(git, lands);
  const refused = (why: string): Promise<void> =>
    run.record({ type: "merge-failed", command: id, phase, attempt, why });
  let moved = false;
  try {
    moved = base === head && (await remote.moveBranch(branch, base, lands));
  } catch (error) {
    if (!(error instanceof RemoteRefuses)) throw error;
    return refused(`Phase ${phase} could not be merged: ${error.message}.`);
  }
  if (!moved && !(await contains(git, head, lands)))
    return refused(
      `Phase ${phase} could not be merged: ${branch} is not where the run left it (${head.slice(0, 9)}), somebody moved it.`,
    );
  const files = (await changedSinceParting(git, base, tip)).filter((path) => !plan.files.includes(path));
  const merged = { type: "phase-merged", command: id, phase, attempt } as const;
  await run.record({ ...merged, sha: lands, into: branch, files, leftBehind: [] });
}
