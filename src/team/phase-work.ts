/**
 * A phase that this worker holds: what the conductor issues for it is performed here, and what came of it is written under
 * the phase's lease.
 *
 * Invariants
 * 1. Whoever takes a phase over ends nothing but this phase's sessions, and begins from what the journal says and the
 *    remote has.
 * 2. When the lease is lost, its agents are ended before anything else, and nothing more is written or sent.
 */
import { rmSync } from "node:fs";
import { sweep } from "../agents/processes.js";
import { openDoor } from "../engine/door.js";
import { type HeldRun, heldRun } from "../engine/held-run.js";
import { LiveRun } from "../engine/live-run.js";
import { markerOf } from "../engine/marker.js";
import { perform } from "../engine/perform.js";
import { planFiles } from "../engine/plan-files.js";
import { readPromptTexts } from "../engine/prompt-texts.js";
import { regainWork } from "../engine/put-right.js";
import { reconcile } from "../engine/resume.js";
import { keepWork } from "../engine/safekeeping.js";
import { postWarden } from "../engine/warden.js";
import { coolDown } from "../engine/warm.js";
import { hideFromAgent } from "../git/excludes.js";
import { Git } from "../git/git.js";
import { phaseBranch, removeWorktree, worktreeOf } from "../git/worktree.js";
import type { Command } from "../run/command.js";
import type { RunEvent } from "../run/event.js";
import { isAttempted, isOver } from "../run/phase.js";
import type { RunState } from "../run/state.js";
import { isLanding } from "./conductor.js";
import { type HeldLease, holdLease } from "./lease.js";
import { databaseClock, type Machine, runCheckout, workClone } from "./machine.js";
import type { PhaseJob, Taken } from "./queues.js";
import { TeamRemote } from "./remote.js";

/** Nothing is to be done for so long: somebody is asked, or waited for, and the lease is for others. */
const IDLE_MS = 3_000;

/** `ends`: the worker is about to end, and hands over what it has. */
export async function workOnPhase(machine: Machine, job: Taken<PhaseJob>, ends: AbortSignal): Promise<void> {
  const { store, queues, redact, say, database } = machine;
  const { run: id, phase } = job.data;
  const lease = holdLease(queues, job, markerOf(id, `${phase}/`));
  const clock = await databaseClock(database);
  try {
    const joined = await store.join(id, phase, redact);
    if (joined === undefined) return;
    const run = new LiveRun(joined.journal, joined.events);
    if (run.state.status !== "running") {
      await run.close();
      return await queues.finish(job);
    }
    say(`works on phase ${phase} of ${id} (lease ${joined.epoch})`);
    const clone = await workClone(machine);
    const onTrouble = (why: string): void =>
      run.warn(`The git remote cannot be reached by ${machine.worker}: ${why}`, phase);
    const { branch, head } = run.state;
    const options = { url: machine.url, run: id, branch, epoch: joined.epoch, signal: lease.lost, onTrouble };
    const remote = new TeamRemote({ git: clone, ...options });
    await remote.fetch();
    const git = await runCheckout(clone, machine.folder, id, head);
    const texts = readPromptTexts(git.top);
    if (!texts.ok) throw new Error("the project's prompts are not sound");
    const warden = postWarden(id, undefined);
    const lock = { release: () => {} };
    const parts = { run, store, git, files: planFiles(git.top), texts: texts.value, lock, warden, interrupted: false };
    const held = heldRun(parts, machine.equipment(run.state.config));
    held.remote = remote;
    held.now = clock.now;
    held.worktrees = `${machine.folder}/worktrees`;
    const door = await openDoor(held);
    held.door = door;
    try {
      held.gitEnv = await hideFromAgent(git, run.state.plan.files, held.agentEnv);
      await takeOver(held, remote, phase, joined.events);
      const ended = await performUntilIdle(held, phase, lease, ends);
      if (ended !== "lost") await keepAll(held, remote, phase);
      await endSessions(held);
      if (!lease.lost.aborted) {
        await run.flush();
        if (ended === "ends") await queues.giveBack(job);
        else await queues.finish(job);
        await tidyUp(clone, run.state, phase);
      }
    } finally {
      await endSessions(held);
      await sweep((marker) => marker.startsWith(markerOf(id, `${phase}/`)));
      warden.dismiss();
      await door.close().catch(() => {});
      await run.close().catch(() => {});
    }
  } finally {
    clock.stop();
    lease.letGo();
  }
}

/** What the last holder left, as far as it is anywhere: its sessions are over, its checkout is made anew. */
async function takeOver(held: HeldRun, remote: TeamRemote, phase: string, past: readonly RunEvent[]): Promise<void> {
  const { run, git } = held;
  const issued = past.findLast((event) => event.type === "command-issued" && event.phase === phase);
  const begun = issued !== undefined && past.some((event) => event.seq > issued.seq && isOfPhase(event, phase));
  // What nobody began is performed as it is.
  if (begun) run.append(...reconcile(run.state, phase));
  await run.flush();
  const now = run.state.phases.get(phase);
  if (!isAttempted(now) || now.attempt.origin.worktree === undefined || now.attempt.train.merged !== undefined) return;
  const { branch } = now.attempt.origin.worktree;
  await remote.recover(phase);
  await forgetBranch(git, branch);
  held.remade.add(branch);
  await regainWork(held, [phase]);
}

const isOfPhase = (event: RunEvent, phase: string): boolean => "phase" in event && event.phase === phase;

async function forgetBranch(git: Git, branch: string): Promise<void> {
  const folder = await worktreeOf(git, branch).catch(() => undefined);
  if (folder !== undefined && !(await removeWorktree(git, folder, true)))
    rmSync(folder, { recursive: true, force: true });
  await git.attempt(["worktree", "prune"]);
  await git.attempt(["branch", "--quiet", "-D", branch]);
}

/** Performs what is issued for the phase, until there is nothing more for a while, the lease is lost, or the worker ends. */
function performUntilIdle(
  held: HeldRun,
  phase: string,
  lease: HeldLease,
  ends: AbortSignal,
): Promise<"idle" | "lost" | "ends"> {
  const { run } = held;
  return new Promise((resolve, reject) => {
    let performing = 0;
    let idle: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(idle);
      if (performing > 0) return;
      idle = setTimeout(() => resolve("idle"), isFinished(run.state, phase) ? 0 : IDLE_MS);
    };
    const begin = (command: Command): void => {
      performing++;
      perform(held, command)
        .catch(reject)
        .finally(() => {
          performing--;
          settle();
        });
    };
    run.onBroken(reject);
    run.onEvent((event) => {
      if (event.type === "command-issued" && event.phase === phase && !isLanding(event.command)) begin(event.command);
      settle();
    });
    lease.lost.addEventListener("abort", () => resolve("lost"));
    if (ends.aborted) resolve("ends");
    ends.addEventListener("abort", () => resolve("ends"));
    for (const command of run.state.inFlight.values())
      if (command.phase === phase && !isLanding(command)) begin(command);
    settle();
  });
}

/** Its work is on the branch, or given up, and nothing more will be asked here. */
function isFinished({ phases, inFlight, status }: RunState, phase: string): boolean {
  const now = phases.get(phase);
  if (status !== "running" || now === undefined) return true;
  return isOver(now) && ![...inFlight.values()].some((command) => command.phase === phase);
}

/** What is open is kept for whoever goes on. */
async function keepAll(held: HeldRun, remote: TeamRemote, phase: string): Promise<void> {
  const now = held.run.state.phases.get(phase);
  if (!isAttempted(now) || isOver(now) || now.attempt.origin.worktree === undefined) return;
  await endSessions(held);
  const folder = held.checkouts.get(now.attempt.origin.worktree.branch);
  if (folder === undefined) return;
  await keepWork(held, phase, new Git(folder), now.attempt.progress.tasksDone);
  await remote.send(phase);
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
