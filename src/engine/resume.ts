/**
 * Takes a run up again: replay, sweep what the dead process left, reconcile what was in flight with the world. After
 * that it is an ordinary run, and `decide` goes on.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { sweep } from "../agents/processes.js";
import type { Config } from "../config/schema.js";
import { dropDeadLocks } from "../git/dead-locks.js";
import { asGitError, Git, GitError } from "../git/git.js";
import { restoreBranch } from "../git/restore.js";
import { changedSince, type Opened, openRepository, stagedPaths } from "../git/start.js";
import { ensureWorktree, worktreeOf } from "../git/worktree.js";
import { isDone } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";
import type { Command } from "../run/command.js";
import type { Fact, RunEvent } from "../run/event.js";
import { evolve } from "../run/evolve.js";
import { lastAttempt, standsOn } from "../run/phase.js";
import type { SessionState } from "../run/session.js";
import type { RunState } from "../run/state.js";
import { redactor } from "../secrets/redact.js";
import type { JournalRead, Store } from "../store/store.js";
import { agentsOf } from "./crew-of.js";
import { bad, good, type Result } from "./failure.js";
import { type Equipment, type HeldRun, heldRun } from "./held-run.js";
import { holdRun } from "./hold.js";
import { LiveRun } from "./live-run.js";
import { isOfRun } from "./marker.js";
import { type PlanFiles, planFiles } from "./plan-files.js";
import { planOptions } from "./plan-options.js";
import { readPromptTexts } from "./prompt-texts.js";
import { postWarden } from "./warden.js";

/** The state a journal leads to; its first event is always there. */
export function stateOf(events: readonly RunEvent[]): RunState | undefined {
  let state: RunState | undefined;
  for (const event of events) state = evolve(state, event);
  return state;
}

export type ReadRun = Extract<JournalRead, { ok: true }> & { state: RunState };

export async function readRun(store: Store, id: string): Promise<Result<ReadRun>> {
  const read = await store.read(id);
  if (!read.ok) {
    const { where: file, line, why, events } = read;
    return bad({ type: "journal", file, line, why, readable: events.length });
  }
  const state = stateOf(read.events);
  if (state === undefined) {
    return bad({ type: "nothing-to-resume", run: id, why: "it ended before it began: its journal is empty" });
  }
  return good({ ...read, state });
}

/** What an agent did to the checkout in the moment Segno ended, where it would keep the run from going on. */
export async function restoreInterrupted(place: string, state: RunState): Promise<void> {
  if (state.status !== "running") return;
  const own = [...state.readiness.underWay]
    .map((id) => lastAttempt(state.phases.get(id)))
    .find((attempt) => attempt !== undefined && attempt.origin.worktree === undefined);
  if (own === undefined) return;
  const { branch, head: commit, run } = state;
  await dropDeadLocks(place, branch);
  // What only a person can decide is said by whoever looks next.
  await restoreBranch(new Git(place), { branch, commit, since: own.startedAt, run }).catch(asGitError);
}

export interface ResumeOptions {
  attended?: boolean;
  /** Nobody asked for it: its process had died. */
  revived?: { times: number; cause: string } | undefined;
}

export async function resumeRun(
  store: Store,
  place: string,
  id: string,
  config: Config,
  equipment: Equipment,
  { attended = false, revived }: ResumeOptions = {},
): Promise<Result<HeldRun>> {
  const first = await readRun(store, id);
  if (!first.ok) return first;
  if (first.value.state.status === "completed") {
    return bad({ type: "nothing-to-resume", run: id, why: "all its phases are done" });
  }
  const repository = await repositoryOn(place, first.value.state.branch);
  if (!repository.ok) return repository;
  const { git } = repository.value;
  const { top } = git;
  const texts = readPromptTexts(top);
  if (!texts.ok) return texts;
  const locked = await holdRun(store, id);
  if (!locked.ok) return locked;
  // Read again under the lock: its last holder may have written until it died.
  const read = await readRun(store, id);
  if (!read.ok) {
    locked.value.release();
    return read;
  }
  const warden = postWarden(id, equipment.revives?.(id, top));
  const swept = await sweep(isOfRun(id));
  const redact = redactor({ ...process.env, ...equipment.agentEnv });
  const epoch = read.value.state.epoch + 1;
  const run = new LiveRun(await store.open(id, { epoch, redact }, read.value), read.value.events);
  run.onEvent(equipment.onEvent);
  const since = run.state.noted;
  const theirs = await changedSinceRest(git, since);
  await run.record({
    type: "run-resumed",
    config,
    attended,
    agents: agentsOf(equipment),
    torn: read.value.torn,
    swept,
    since,
    revived,
    ...theirs,
  });
  if (since === undefined && read.value.state.status === "running" && !read.value.state.inWorktrees) {
    run.append({
      type: "warned",
      message: "Segno was ended without a stop: what was edited since then cannot be told from the phase's own work.",
    });
  }
  if (theirs.usersPaths.length > 0) {
    run.append({
      type: "warned",
      message: `Edited since the run came to rest, and left out of its commits: ${theirs.usersPaths.slice(0, 10).join(", ")}`,
    });
  }
  const files = planFiles(top);
  for (const fact of honourMarks(run.state, files)) run.append(fact);
  for (const fact of reconcile(run.state)) run.append(fact);
  await run.flush();
  // Later, what was done to the checkout may be the user's own doing.
  const interrupted = read.value.state.status === "running" && revived !== undefined;
  const held = heldRun(
    { run, store, git, files, texts: texts.value, lock: locked.value, warden, interrupted },
    equipment,
  );
  held.restores = revived !== undefined || (await hasHead(git, run.state));
  try {
    await findCheckouts(held);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    warden.dismiss();
    await run.close();
    locked.value.release();
    return bad({ type: "branch", branch: run.state.branch, why: error.message });
  }
  return good(held);
}

/** Whether the run's newest commit is still on its branch: where it is not, somebody took it away. */
async function hasHead(git: Git, { branch, head }: RunState): Promise<boolean> {
  return (await git.attempt(["merge-base", "--is-ancestor", head, `refs/heads/${branch}`])).ok;
}

/** Where the run's branch is checked out: here, or in a worktree of this repository. How it stands elsewhere is no matter. */
export async function repositoryOn(place: string, branch: string): Promise<Result<Extract<Opened, { ok: true }>>> {
  const folder = await worktreeOf(new Git(place), branch).catch(() => undefined);
  const opened = await openRepository(folder !== undefined && existsSync(folder) ? folder : place);
  if (!opened.ok) return bad({ type: "repository", problem: opened.problem, detail: opened.detail });
  if (opened.branch === branch) return good(opened);
  return bad({ type: "other-branch", expected: branch, actual: opened.branch });
}

/** Phases work where their branches are checked out; what is gone is made again at its newest commit. */
async function findCheckouts({ run, git, worktrees, checkouts, remade }: HeldRun): Promise<void> {
  for (const phase of run.state.phases.values()) {
    const last = lastAttempt(phase);
    const branch = last?.origin.worktree?.branch;
    // What is merged has no worktree any more.
    if (last === undefined || branch === undefined || last.train.merged !== undefined) continue;
    const there = await worktreeOf(git, branch);
    if (there === undefined || !existsSync(join(there, ".git"))) remade.add(branch);
    checkouts.set(branch, await ensureWorktree(git, worktrees, branch, standsOn(last)));
  }
}

/** What the user changed and staged while nobody held the run. Plan files are read on their own. */
async function changedSinceRest(
  git: Git,
  noted: string | undefined,
): Promise<{ usersPaths: string[]; staged: string[] }> {
  if (noted === undefined) return { usersPaths: [], staged: [] };
  const changes = await changedSince(git, noted);
  // What they committed is nobody's open work any more.
  const open = new Set((await changedSince(git, "HEAD^{tree}")).map(({ path }) => path));
  return {
    usersPaths: changes.map(({ path }) => path).filter((path) => open.has(path)),
    staged: await stagedPaths(git),
  };
}

/** A phase that failed and that the user now marks as done counts as done: their word. */
function honourMarks({ plan, config, format, phases }: RunState, files: PlanFiles): Fact[] {
  const parsed = parsePlan(plan.file, files.read, planOptions(config, format));
  if (!parsed.ok) return [];
  return parsed.plan.phases.flatMap(({ id, mark }): Fact[] => {
    const step = phases.get(id)?.step;
    if (!isDone(mark) || (step !== "waiting" && step !== "failed")) return [];
    return [{ type: "skip-requested", phase: id, by: "marked as done in the plan" }];
  });
}

/** Writes into the journal of a run that nobody holds: takes its locks, appends, releases them. Where anybody may write, without. */
export async function appendToRun<T>(store: Store, id: string, act: (run: LiveRun) => Promise<T>): Promise<Result<T>> {
  const anywhere = await store.steer(id, redactor(process.env));
  if (anywhere !== undefined) {
    const run = new LiveRun(anywhere.journal, anywhere.events);
    try {
      return good(await act(run));
    } finally {
      await run.close();
    }
  }
  const locked = await holdRun(store, id);
  if (!locked.ok) return locked;
  try {
    const read = await readRun(store, id);
    if (!read.ok) return read;
    const { epoch } = read.value.state;
    const journal = await store.open(id, { epoch, redact: redactor(process.env) }, read.value);
    const run = new LiveRun(journal, read.value.events);
    const value = await act(run);
    await run.close();
    return good(value);
  } finally {
    locked.value.release();
  }
}

/**
 * What was in flight when the last process ended. Its sessions are gone, whatever they were doing. A gate runs again; a
 * commit is performed again and recognises itself by its trailer; the start of a phase left nothing behind. `only`: of one
 * phase, whose holder is gone.
 */
export function reconcile(state: RunState, only?: string): Fact[] {
  const facts: Fact[] = [];
  const isMeant = ({ phase }: { phase: string }): boolean => only === undefined || phase === only;
  const open = [...state.inFlight.values()].filter(isMeant);
  for (const session of state.sessions.values()) {
    if (session.step === "ended" || !isMeant(session)) continue;
    const command = open.find((candidate) => isOfSession(candidate, session));
    const { id, phase, attempt } = session;
    facts.push({
      type: "session-ended",
      command: command?.id ?? id,
      session: id,
      phase,
      attempt,
      reason: "killed",
      swept: 0,
    });
  }
  for (const command of open) {
    // What lands is brought in by whoever conducts the run.
    if (only !== undefined && command.type === "merge-phase" && command.lands !== undefined) continue;
    // It ends with its session, unless that had ended before it was issued: in a team others decide meanwhile.
    if ("session" in command && state.sessions.get(command.session)?.step !== "ended") continue;
    facts.push({ type: "command-abandoned", command: command.id, why: "Segno ended while it was performed" });
  }
  return facts;
}

const isOfSession = (command: Command, session: SessionState): boolean =>
  "session" in command && command.session === session.id;
