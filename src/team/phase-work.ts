/**
 * A phase that this worker holds: what the conductor issues for it is performed here, and what came of it is written under
 * the phase's lease.
 *
 * Invariants
 * 1. Whoever takes a phase over ends nothing but this phase's sessions, and begins from what the journal says and the
 *    remote has.
 * 2. When the lease is lost, its agents are ended before anything else, and nothing more is written or sent.
 * 3. On one machine, whoever holds a phase anew begins when the holding before has wholly ended: both work in one clone.
 * 4. What it cannot do, or not any more, it leaves to others: at the next boundary, with a checkpoint, as far as there is time.
 */
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { sweep } from "../agents/processes.js";
import { type Door, openDoor } from "../engine/door.js";
import { nearlyFull } from "../engine/harm.js";
import { type HeldRun, heldRun } from "../engine/held-run.js";
import { LiveRun } from "../engine/live-run.js";
import { markerOf } from "../engine/marker.js";
import { perform } from "../engine/perform.js";
import { planFiles } from "../engine/plan-files.js";
import { readPromptTexts } from "../engine/prompt-texts.js";
import { makeAnew } from "../engine/put-right.js";
import { reconcile } from "../engine/resume.js";
import { keepForOthers } from "../engine/safekeeping.js";
import { postWarden } from "../engine/warden.js";
import { coolDown } from "../engine/warm.js";
import { hideFromAgent } from "../git/excludes.js";
import { Git } from "../git/git.js";
import { phaseBranch, removeWorktree, worktreeOf } from "../git/worktree.js";
import type { Command } from "../run/command.js";
import { decide } from "../run/decide.js";
import type { RunEvent } from "../run/event.js";
import { isOver, lastAttempt } from "../run/phase.js";
import type { RunState } from "../run/state.js";
import { isLimited } from "../run/team.js";
import { LeaseLost } from "../store/postgres/journal.js";
import type { Offer } from "../store/postgres/store.js";
import type { Joined } from "../store/store.js";
import { isLanding } from "./conductor.js";
import { type HeldLease, withLease } from "./lease.js";
import { databaseClock, type Machine, runCheckout, workClone } from "./machine.js";
import type { PhaseJob, Taken } from "./queues.js";
import { TeamRemote } from "./remote.js";
import { whenAborted } from "./when-aborted.js";

/** Nothing is to be done for so long: somebody is asked, or waited for, and the lease is for others. */
const IDLE_MS = 3_000;
/** Something is to be decided about it, and nobody does: longer than it takes until somebody else conducts the run. */
const UNDECIDED_MS = 30_000;
/** For what runs, a checkpoint, a commit and a push, once it is to be left. */
const LEAVES_WITHIN_MS = {
  ends: 45_000,
  // The queue waits some hours longer: whatever runs may end.
  old: 2 * 60 * 60_000,
} as const;
type Leaving = keyof typeof LEAVES_WITHIN_MS;

/** By then it ends, even if the remote cannot be reached: what it could not send is done again by others. */
const GIVES_UP_AFTER_MS = 55_000;

/** For what is under way when it is left. */
const ENDS_WITHIN_MS = 120_000;
const GOES_WITHIN_MS = 2_000;

/** Aborted so long after the other one was. */
function after(signal: AbortSignal, ms: number): { signal: AbortSignal; forget: () => void } {
  const later = new AbortController();
  const forget = whenAborted(signal, () => void setTimeout(() => later.abort(), ms).unref());
  return { signal: later.signal, forget };
}

/** `ends`: the worker is about to end, and hands over what it has. */
export async function workOnPhase(machine: Machine, job: Taken<PhaseJob>, ends: AbortSignal): Promise<void> {
  const { store, queues, redact, longestLeaseMs: longestMs } = machine;
  const { run: id, phase } = job.data;
  // What it needs has changed meanwhile, and somebody took it from another queue.
  if (await queues.isHeldElsewhere(job)) return queues.finish(job);
  const key = `${machine.worker} ${id}/${phase}`;
  const before = holdings.get(key);
  const ended = withLease(queues, job, { guards: markerOf(id, `${phase}/`), longestMs }, async (lease) => {
    await before;
    expectHeld(lease);
    const joined = await store.join(id, phase, redact, lease.holds);
    // Somebody removed the run.
    if (joined === undefined) return queues.finish(job);
    const run = new LiveRun(joined.journal, joined.events);
    try {
      if (run.state.status !== "running") return await queues.finish(job);
      // Its disk may be full since it fetched this: better never said to be taken than taken and left.
      if (nearlyFull(machine.folder) !== undefined) return await queues.giveBack(job);
      await workUnder(machine, job, run, joined, lease, ends);
    } finally {
      await run.close().catch(() => {});
    }
  });
  const whatever = Promise.allSettled([before, ended]);
  holdings.set(key, whatever);
  try {
    await ended;
  } finally {
    if (holdings.get(key) === whatever) holdings.delete(key);
  }
}

/** Holdings of this process that have not ended, by worker and phase. */
const holdings = new Map<string, Promise<unknown>>();

/** Whatever was waited for may have taken longer than the lease. */
function expectHeld({ holds }: HeldLease): void {
  if (!holds()) throw new LeaseLost("the lease was not renewed in time");
}

async function workUnder(
  machine: Machine,
  job: Taken<PhaseJob>,
  run: LiveRun,
  { epoch, events: past }: Joined,
  lease: HeldLease,
  ends: AbortSignal,
): Promise<void> {
  const { store, queues, say, database, worker, offer, url } = machine;
  const { run: id, phase } = job.data;
  say(`works on phase ${phase} of ${id} (lease ${epoch})`);
  const before = run.state.team?.holdings.get(phase)?.worker;
  const from = before === worker ? undefined : before;
  run.append({ type: "phase-taken", phase, worker, lease: epoch, from });
  const clone = await workClone(machine, ends);
  const onTrouble = (why: string): void => run.warn(`${worker}: the git remote ${why}`, phase);
  const { branch, head } = run.state;
  const givesUp = after(ends, GIVES_UP_AFTER_MS);
  const signal = AbortSignal.any([lease.lost, givesUp.signal]);
  const remote = new TeamRemote({ git: clone, url, run: id, branch, epoch, signal, onTrouble });
  await remote.fetch();
  expectHeld(lease);
  const git = await runCheckout(clone, machine.folder, id, head);
  const texts = readPromptTexts(git.top);
  if (!texts.ok) throw new Error("the project's prompts are not sound");
  const equipment = await machine.equipment(run.state);
  const clock = await databaseClock(database);
  const warden = postWarden(id, undefined);
  const lock = { release: () => {} };
  const parts = { run, store, git, files: planFiles(git.top), texts: texts.value, lock, warden, interrupted: false };
  const held = heldRun(parts, equipment);
  held.remote = remote;
  held.now = clock.now;
  held.accounts = offer.agents;
  held.worktrees = `${machine.folder}/worktrees`;
  held.stop = AbortSignal.any([held.stop, ends, lease.lost]);
  let door: Door | undefined;
  let isEnded = false;
  const underWay = new Set<Promise<unknown>>();
  const endAll = async (): Promise<void> => {
    await endSessions(held);
    await sweep((marker) => marker.startsWith(markerOf(id, `${phase}/`)));
  };
  try {
    door = await openDoor(held);
    held.door = door;
    held.gitEnv = await hideFromAgent(git, run.state.plan.files, held.agentEnv);
    expectHeld(lease);
    await takeOver(held, remote, phase, past, lease);
    const ended = await performUntilIdle(held, machine, phase, lease, ends, underWay);
    if (ended !== "lost" && nearlyFull(machine.folder) === undefined) await keepAll(held, remote, phase);
    await endAll();
    if (ended !== "lost" && !lease.lost.aborted) {
      await tidyUp(clone, run.state, phase).catch(() => {});
      run.append({ type: "phase-let-go", phase, worker, why: WHY_LET_GO[ended] });
      await run.flush();
      // The last of it: from now on another slot of this worker may have it. Who goes on with it is found by what it
      // needs then: the conductor offers it anew.
      await queues.finish(job);
      isEnded = true;
    }
  } finally {
    givesUp.forget();
    if (!isEnded) await endAll();
    // What it began has an end, and touches nothing that is somebody else's by then.
    const most = ends.aborted ? GOES_WITHIN_MS : ENDS_WITHIN_MS;
    await Promise.race([Promise.allSettled(underWay), sleep(most, undefined, { ref: false })]);
    warden.dismiss();
    clock.stop();
    await door?.close().catch(() => {});
  }
}

/** What the last holder left, as far as it is anywhere: its sessions are over, its checkout is made anew. */
async function takeOver(
  held: HeldRun,
  remote: TeamRemote,
  phase: string,
  past: readonly RunEvent[],
  lease: HeldLease,
): Promise<void> {
  const { run, git } = held;
  const issued = past.findLast((event) => event.type === "command-issued" && event.phase === phase);
  const begun = issued !== undefined && past.some((event) => event.seq > issued.seq && isOfPhase(event, phase));
  const live = [...run.state.sessions.values()].some(
    (session) => session.phase === phase && session.step !== "starting" && session.step !== "ended",
  );
  const now = run.state.phases.get(phase);
  const again = now?.step === "waiting" || now?.step === "starting";
  const attempt = again ? now.before : lastAttempt(now);
  const { worktree } = attempt?.origin ?? {};
  // Whatever is here of it is older than what the journal says.
  await forgetBranch(git, worktree?.branch ?? phaseBranch(run.state.run, phase));
  const isWanted = attempt !== undefined && worktree !== undefined && attempt.train.merged === undefined;
  if (isWanted) await remote.recover(phase);
  expectHeld(lease);
  // One that is begun again gets what was kept when it begins.
  if (isWanted && again) held.remade.add(worktree.branch);
  const remade = isWanted && !again ? [await makeAnew(held, phase, attempt, worktree.branch)] : [];
  // What nobody began is performed as it is, but not on a merge that is gone.
  const isOff = begun || live || remade.some(({ mergeLost }) => mergeLost);
  // In one go: nothing is to be decided in between.
  const facts = [...(isOff ? reconcile(run.state, phase) : []), ...remade];
  if (facts.length > 0) await run.record(...facts);
}

/** Who has it, and what is said of it, says nothing about what was begun. */
const isOfPhase = (event: RunEvent, phase: string): boolean =>
  "phase" in event && event.phase === phase && !/^(phase-(taken|leaving|let-go)|warned)$/.test(event.type);

async function forgetBranch(git: Git, branch: string): Promise<void> {
  const folder = await worktreeOf(git, branch).catch(() => undefined);
  if (folder !== undefined && !(await removeWorktree(git, folder, true)))
    rmSync(folder, { recursive: true, force: true });
  await git.attempt(["worktree", "prune"]);
  await git.attempt(["branch", "--quiet", "-D", branch]);
}

type Ended = "idle" | "lost" | "cannot" | Leaving;

const WHY_LET_GO: Record<Exclude<Ended, "lost">, string> = {
  idle: "nothing is to be done for it now",
  ends: "the worker ends",
  old: "its lease has grown old",
  cannot: "it cannot be worked on there now",
};

/** What is not begun any more by somebody who leaves: whoever comes next begins it. */
const BEGINS: ReadonlySet<Command["type"]> = new Set(["start-phase", "start-session", "run-gate", "merge-phase"]);

/**
 * Performs what is issued for the phase, until there is nothing more for a while, the lease is lost, the worker ends, or
 * something is issued that cannot be done here.
 */
function performUntilIdle(
  held: HeldRun,
  { worker, offer, store, folder, say }: Machine,
  phase: string,
  lease: HeldLease,
  ends: AbortSignal,
  underWay: Set<Promise<unknown>>,
): Promise<Ended> {
  const { run } = held;
  let over = false;
  const undo: (() => void)[] = [];
  return new Promise<Ended>((resolve, reject) => {
    let leaving: "cannot" | Leaving | undefined;
    let idle: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(idle);
      if (underWay.size > 0) return;
      // What follows from the last fact may be on its way.
      idle = setTimeout(() => resolve(leaving ?? "idle"), waitFor(run.state, phase, leaving !== undefined));
    };
    const begin = (command: Command): void => {
      if (over) return;
      const full = nearlyFull(folder);
      if (full !== undefined) return held.leaves?.(full);
      if (leaving !== undefined && BEGINS.has(command.type)) return settle();
      if (command.type === "start-session" && !worksHere(run.state, offer, command.agent)) {
        leaving ??= "cannot";
        return settle();
      }
      const performed = perform(held, command)
        .catch(reject)
        .finally(() => {
          underWay.delete(performed);
          settle();
        });
      underWay.add(performed);
    };
    const leave = (why: Leaving): void => {
      if (over || leaving === why || leaving === "ends") return;
      leaving = why;
      run.append({ type: "phase-leaving", phase, worker, why: WHY_LET_GO[why] });
      const timer = setTimeout(() => resolve(why), LEAVES_WITHIN_MS[why]);
      undo.push(() => clearTimeout(timer));
      settle();
    };
    held.leaves = (why) => {
      say(`leaves phase ${phase}: ${why}`);
      resolve("cannot");
    };
    run.onBroken(reject);
    run.onEvent((event) => {
      if (event.type === "command-issued" && event.phase === phase && !isLanding(event.command)) begin(event.command);
      if (event.type === "limit-reached" && event.account !== undefined && event.agent !== undefined)
        void store.limitAccount(event.agent, event.account, event.until).catch(() => {});
      // Whatever is being done: somebody ended the run at once.
      if (run.state.status !== "running") resolve("idle");
      // What others do is no reason to keep it.
      if ("phase" in event && event.phase === phase) settle();
    });
    undo.push(whenAborted(lease.lost, () => resolve("lost")));
    if (ends.aborted) leave("ends");
    for (const command of run.state.inFlight.values())
      if (command.phase === phase && !isLanding(command)) begin(command);
    undo.push(whenAborted(ends, () => leave("ends")));
    undo.push(whenAborted(lease.old, () => leave("old")));
    settle();
  }).finally(() => {
    over = true;
    for (const step of undo) step();
  });
}

/** The agent is here, and its account is not at a limit. */
function worksHere(state: RunState, { agents }: Offer, agent = state.config.agent): boolean {
  const account = agents[agent];
  return account !== undefined && !isLimited(state, agent, account);
}

/** How long nothing may be issued for it before it is let go. */
function waitFor(state: RunState, phase: string, leaving: boolean): number {
  if (isFinished(state, phase) || isAtRest(state, phase, leaving)) return 0;
  return isUndecided(state, phase) && !leaving ? UNDECIDED_MS : IDLE_MS;
}

/** What is known suffices to say what follows for it: whoever conducts the run will, or was lost just now. */
const isUndecided = (state: RunState, phase: string): boolean =>
  decide(state).some((decision) => {
    const about = decision.type === "perform" ? decision.command : decision.fact;
    return "phase" in about && about.phase === phase;
  });

/** Nobody has the floor, and what is to be begun next is for whoever comes next. */
function isAtRest({ inFlight, sessions }: RunState, phase: string, leaving: boolean): boolean {
  const open = [...inFlight.values()].filter((command) => command.phase === phase && !isLanding(command));
  const live = [...sessions.values()].some(
    (session) => session.phase === phase && session.step !== "ended" && session.step !== "starting",
  );
  return leaving && !live && open.length > 0 && open.every(({ type }) => BEGINS.has(type));
}

/** Its work is on the branch, or given up, and nothing more will be asked here. */
function isFinished({ phases, inFlight, status }: RunState, phase: string): boolean {
  const now = phases.get(phase);
  if (status !== "running" || now === undefined) return true;
  // One that failed has a commit to make.
  return isOver(now) && now.step !== "failed" && ![...inFlight.values()].some((command) => command.phase === phase);
}

/** What is open is kept for whoever goes on. */
async function keepAll(held: HeldRun, remote: TeamRemote, phase: string): Promise<void> {
  const attempt = lastAttempt(held.run.state.phases.get(phase));
  if (attempt?.origin.worktree === undefined || attempt.train.merged !== undefined) return;
  await endSessions(held);
  const folder = held.checkouts.get(attempt.origin.worktree.branch);
  if (folder === undefined) return;
  await keepForOthers(held, phase, new Git(folder), attempt.progress.tasksDone);
  await remote.sendOpenWork(phase);
}

async function endSessions(held: HeldRun): Promise<void> {
  await coolDown(held).catch(() => {});
  for (const session of held.sessions.values()) await session.close().catch(() => {});
  held.sessions.clear();
}

/** What is on the branch, or will be worked on elsewhere, needs no place here. */
async function tidyUp(clone: Git, { run }: RunState, phase: string): Promise<void> {
  await forgetBranch(clone, phaseBranch(run, phase));
}
