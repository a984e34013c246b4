import { asideRef } from "../../git/aside.js";
import { asGitError, Git, GitError } from "../../git/git.js";
import { tipOf } from "../../git/merge.js";
import { baselineOf, type PhaseBaseline, takeBaseline } from "../../git/start.js";
import { ensureWorktree, phaseBranch } from "../../git/worktree.js";
import { type Attempt, revise, standsOn, type Worktree } from "../../run/phase.js";
import { stateOfPhase } from "../../run/state.js";
import { mergeTargetOf, standsAt } from "../checkout.js";
import { readHandoffs } from "../handoff.js";
import type { HeldRun } from "../held-run.js";
import { inTurn } from "../in-turn.js";
import { keepAgain } from "../kept-files.js";
import { markPlan } from "../marks.js";
import type { Performer } from "../performer.js";
import { takeUpPlanChanges } from "../plan-reading.js";
import { fillRemade } from "../put-right.js";
import { setUpWorktree } from "../set-up.js";
import { takeBack } from "../take-back.js";

/**
 * Takes up what the user changed in the plan, then remembers the tree before the phase, so that its commits hold exactly
 * what it changed. A further attempt keeps the first one's: what that left in the tree is the phase's own work.
 */
export const startPhase: Performer<"start-phase"> = async (held, { id, phase, attempt, apart }) => {
  const { run } = held;
  // Only one phase at a time begins: the plan is read, and branches are made, in one place.
  const taken = await inTurn(held, () => begin(held, id, phase, attempt, apart === true));
  if (taken === undefined) return;
  const { head, baseline, staged, worktree, before } = taken;
  // Installing things takes its time: everyone does that at once.
  const folder = worktree === undefined ? undefined : held.checkouts.get(worktree.branch);
  const setup = folder === undefined ? undefined : await setUpWorktree(held, folder, id);
  if (setup === undefined) {
    const started = { type: "phase-started", command: id, phase, attempt, head, baseline, staged, worktree } as const;
    const { branch = "" } = worktree ?? {};
    // In one go: what was lost is known before anybody hears that it begins.
    const refilled =
      folder !== undefined && before !== undefined && held.remade.delete(branch)
        ? [await fillRemade(held, phase, before, { branch, folder })]
        : [];
    await run.record(started, ...refilled);
    return;
  }
  if (setup.calledOff === true) {
    await run.record({ type: "command-abandoned", command: id, why: "the run was asked to stop" });
    return;
  }
  await notReady(held, { id, phase, attempt }, `worktree_setup: ${setup.why}\n${setup.output.trim().slice(-2_000)}`);
};

async function notReady(
  { run }: HeldRun,
  { id, phase, attempt }: { id: string; phase: string; attempt: number },
  why: string,
): Promise<void> {
  const message = `The place for phase ${phase} cannot be made ready: ${why}`;
  await run.record(
    { type: "phase-failed", phase, attempt, category: "agent_error", message, recommendation: "ask" },
    { type: "command-abandoned", command: id, why: "its place could not be made ready" },
  );
}

/** Where the phase will work; undefined if it does not begin now. */
async function begin(
  held: HeldRun,
  id: string,
  phase: string,
  attempt: number,
  apart: boolean,
): Promise<(Taken & { before: Attempt | undefined }) | undefined> {
  const { run } = held;
  await held.remote?.fetch();
  // Elsewhere nobody edits a plan: it is what the run was started with.
  if (held.remote === undefined) await takeUpPlanChanges(held);
  keepAgain(held);
  const planned = run.state.plan.phases.find((candidate) => candidate.id === phase);
  const ready = planned?.dependsOn.every((other) =>
    ["done", "skipped"].includes(run.state.phases.get(other)?.step ?? ""),
  );
  if (planned === undefined || ready !== true) {
    await run.record({
      type: "command-abandoned",
      command: id,
      why: "the plan was changed: the phase is gone, or waits for another now",
    });
    return undefined;
  }
  const moved = held.remote === undefined ? await headMoved(held) : undefined;
  if (moved !== undefined) {
    await run.record(
      { type: "head-moved", ...moved },
      { type: "command-abandoned", command: id, why: "HEAD was moved" },
    );
    return undefined;
  }
  const state = stateOfPhase(run.state, phase);
  const earlier = state.step === "starting" ? state.before : undefined;
  const taken = await (apart ? takeWorktree(held, phase, earlier) : takeCheckout(held, phase, attempt, earlier)).catch(
    asGitError,
  );
  if (!(taken instanceof GitError)) return { ...taken, before: earlier };
  await notReady(held, { id, phase, attempt }, taken.message);
  return undefined;
}

type Taken = PhaseBaseline & { worktree: Worktree | undefined };

async function takeCheckout(
  held: HeldRun,
  phase: string,
  attempt: number,
  before: Attempt | undefined,
): Promise<Taken> {
  const { run, git } = held;
  if (before !== undefined && before.commits.aside === undefined) {
    // Segno may have ended after it was set aside, and before that was written down.
    const aside = await commitAt(git, asideRef(run.state.run, phase, before.number));
    if (aside !== undefined) await takeBack(held, phase, revise(before, "commits", { aside }), git);
    return before.origin;
  }
  const left = before ?? (await leftByAnother(held, phase));
  const name = `phase-${phase}-a${attempt}`;
  // Where a repeat finds it taken already, what came back since is not part of it.
  const again = left === undefined ? undefined : await baselineOf(git, run.state.run, name);
  const taken = again ?? (await takeBaseline(git, run.state.run, name));
  if (left !== undefined) await takeBack(held, phase, left, git);
  return { ...taken, worktree: undefined };
}

/** What a run before this one set aside, as the handoff says that it left. */
async function leftByAnother({ run, git, top }: HeldRun, phase: string): Promise<LeftAside | undefined> {
  const { aside } = readHandoffs(top, run.state.plan, run.state.config.handoff_dir).get(phase) ?? {};
  const sha = aside === undefined ? undefined : await commitAt(git, aside);
  if (sha === undefined) return undefined;
  const nothing = {
    sessions: [],
    sessionsBefore: 0,
    tasksDone: [],
    tasksCommitted: [],
    tasksAtSessionStart: 0,
    idleHandovers: 0,
  };
  return {
    number: 1,
    progress: nothing,
    commits: { made: [], finished: 0, failure: undefined, aside: sha, settled: false },
  };
}

async function commitAt(git: Git, ref: string): Promise<string | undefined> {
  const { stdout } = await git.attempt(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
  return stdout.trim() || undefined;
}

type LeftAside = Pick<Attempt, "number" | "progress" | "commits">;

/** A worktree of its own, from where the phase's target is now; a further attempt goes on in the first one's. */
async function takeWorktree(held: HeldRun, phase: string, before: Attempt | undefined): Promise<Taken> {
  const { run, git } = held;
  const target = mergeTargetOf(held, phase);
  const branch = before?.origin.worktree?.branch ?? phaseBranch(run.state.run, phase);
  const head = before?.origin.head ?? (await standsAt(held, target));
  const start = before === undefined ? head : standsOn(before);
  held.checkouts.set(branch, await ensureWorktree(git, held.worktrees, branch, start));
  // Where a repeat finds it made already, it begins where that one did.
  const began = before?.origin.head ?? (await git.line(["merge-base", head, branch]));
  const baseline = before?.origin.baseline ?? (await git.line(["rev-parse", `${began}^{tree}`]));
  await writeParts(held, phase);
  const left = before === undefined ? await leftByAnother(held, phase) : undefined;
  if (left !== undefined) await takeBack(held, phase, left, new Git(held.checkouts.get(branch) ?? git.top));
  return { head: began, baseline, staged: [], worktree: { branch } };
}

/** The first of its sub-phases begins: from here on the plan says so. */
async function writeParts(held: HeldRun, phase: string): Promise<void> {
  if (held.run.state.parents.has(phase)) await markPlan(held, phase, { status: undefined, tasksDone: [] }, "HEAD");
}

/** Where HEAD is, if that is not what the run left or something on top of it. */
async function headMoved({ run, git }: HeldRun): Promise<{ from: string; to: string } | undefined> {
  const from = run.state.head;
  const to = await (run.state.inWorktrees ? tipOf(git, run.state.branch) : git.line(["rev-parse", "HEAD"]));
  if (from === to) return undefined;
  const descends = await git.attempt(["merge-base", "--is-ancestor", from, to]);
  if (!descends.ok) return { from, to };
  const count = await git.line(["rev-list", "--count", `${from}..${to}`]);
  run.append({
    type: "warned",
    message: `${count} commits that are not the run's came in since: it goes on from ${to.slice(0, 9)}.`,
  });
  return undefined;
}
