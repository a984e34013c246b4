/** Drives a run to its end with everything around it: the warden, the door, the clock, and at the end nothing left behind. */
import { asideRef, keepTree } from "../git/aside.js";
import { hideFromAgent } from "../git/excludes.js";
import { asGitError, Git, GitError } from "../git/git.js";
import { forgetRefs, noteRefs } from "../git/noted-refs.js";
import { forgetSettings, noteSettings } from "../git/settings.js";
import { takeBaseline } from "../git/start.js";
import { phaseBranch, removeWorktree, worktreeOf } from "../git/worktree.js";
import type { RunStatus } from "../run/state.js";
import { watchClock } from "./clock.js";
import { type Door, openDoor } from "./door.js";
import { isFileSystemError } from "./file-system.js";
import { learnFrom } from "./forecasting.js";
import { runGatesBefore } from "./gates-before.js";
import { handOffStopped } from "./handoff.js";
import type { HeldRun } from "./held-run.js";
import { filesToKeep } from "./kept-files.js";
import { decideAndPerform } from "./loop.js";
import { startNotifying } from "./notify.js";
import { commitUnrecorded } from "./perform/commit.js";
import { putRight, regainWork } from "./put-right.js";
import { awaitRevisions } from "./revisions.js";
import { coolDown } from "./warm.js";

export const CRASH_NOTE = "crash.txt";

/** `opened` is told where the run can be watched and steered. */
export async function conductRun(held: HeldRun, opened: (door: Door) => void = () => {}): Promise<RunStatus> {
  const { warden } = held;
  const door = await openDoor(held);
  held.door = door;
  opened(door);
  const clock = watchClock(held, { wall: Date.now, monotonic: () => performance.now() });
  learnFrom(held);
  const notices = startNotifying(held);
  const revising = awaitRevisions(held);
  // A crash of ours leaves the warden at its post; what a file system did to us is an end in words.
  let orderly = false;
  try {
    held.settings = noteSettings(held.top, held.run.state.run, { again: held.interrupted });
    held.refs = await noteRefs(held.git, held.run.state.run, { again: held.interrupted });
    held.gitEnv = await hideFromAgent(held.git, held.run.state.plan.files, held.agentEnv);
    held.keptFiles = await filesToKeep(held);
    await regainWork(held);
    if (held.interrupted) await putAllRight(held);
    await runGatesBefore(held);
    const status = await decideAndPerform(held);
    if (status === "stopped") await handOffStopped(held);
    await removeSkipped(held);
    if (status !== "completed") await noteTree(held);
    orderly = true;
    return status;
  } catch (error) {
    orderly = isFileSystemError(error);
    if (!orderly) await noteCrash(held, error);
    await endSessions(held);
    if (orderly) await commitUnrecorded(held);
    throw error;
  } finally {
    clock.stop();
    revising.stop();
    await notices.settle().catch(ofFileSystem);
    await door.close().catch(ofFileSystem);
    await endSessions(held);
    if (orderly) {
      warden.dismiss();
      forgetSettings(held.top, held.run.state.run);
      forgetRefs(held.top, held.run.state.run);
    }
    await held.run.close().catch(ofFileSystem);
    held.lock.release();
  }
}

/** Whatever one of them says: the others end, too. */
async function endSessions(held: HeldRun): Promise<void> {
  await coolDown(held).catch(() => {});
  for (const session of held.sessions.values()) await session.close().catch(() => {});
}

/** Nothing more is to be saved by it. */
function ofFileSystem(error: unknown): void {
  if (!isFileSystemError(error)) throw error;
}

/** For whoever looks into it: the place of the error. */
async function noteCrash({ store, run }: HeldRun, error: unknown): Promise<void> {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  await store.leaveNote(run.state.run, CRASH_NOTE, `${text}\n`).catch(ofFileSystem);
}

/** Nobody looked after what agents did in the moment Segno ended. */
async function putAllRight(held: HeldRun): Promise<void> {
  for (const id of held.run.state.readiness.underWay) await putRight(held, id);
}

/** A phase that was left out needs its worktree no more; what is in no commit there is kept on no branch. */
async function removeSkipped(held: HeldRun): Promise<void> {
  const { run, git } = held;
  for (const [id, phase] of run.state.phases) {
    if (phase.step !== "skipped") continue;
    const branch = phaseBranch(run.state.run, id);
    const folder = await worktreeOf(git, branch).catch(() => undefined);
    if (folder === undefined) continue;
    const left = await keepTree(new Git(folder), asideRef(run.state.run, id, 0)).catch(asGitError);
    if (left instanceof GitError || !(await removeWorktree(git, folder, true)))
      run.warn(`The worktree of phase ${id}, which was skipped, stays: ${folder}`, id);
    else await git.attempt(["branch", "--quiet", "-D", branch]);
  }
}

/** Remembers the working tree as the run leaves it, so that what the user edits before a resume is known as theirs. */
async function noteTree({ run, git }: HeldRun): Promise<void> {
  const name = `rest-${run.state.seq}`;
  const noted = await takeBaseline(git, run.state.run, name).catch(() => undefined);
  if (noted !== undefined) await run.record({ type: "tree-noted", tree: noted.baseline });
}
