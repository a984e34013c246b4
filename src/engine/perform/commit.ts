import { asideRef, setAside } from "../../git/aside.js";
import {
  type CommitOutcome,
  type CommitRequest,
  commitChanges,
  keepSnapshot,
  type TakenApart,
} from "../../git/commit.js";
import { type Git, GitError } from "../../git/git.js";
import { PARTIAL, TRAILERS, taskTrailer } from "../../git/history.js";
import { filesAt, treeChanges } from "../../git/trees.js";
import { markPlanFile } from "../../plan/write-back.js";
import { withoutParts } from "../../plan/write-parts.js";
import { type CommitKind, commandId } from "../../run/command.js";
import { type Attempt, isAttempted, lastAttempt, leftBy, standsOn } from "../../run/phase.js";
import { phaseOf, type RunState, stateOfPhase } from "../../run/state.js";
import { checkoutOf } from "../checkout.js";
import { RemoteRefuses } from "../code-remote.js";
import { writeDebugReport } from "../debug-report.js";
import { removeHandoff, writeHandoff } from "../handoff.js";
import type { HeldRun } from "../held-run.js";
import { markPlan } from "../marks.js";
import type { Performer } from "../performer.js";
import { planFiles } from "../plan-files.js";
import { contentHash } from "../plan-reading.js";
import { putRight, stashesOf } from "../put-right.js";
import { forgetWork } from "../safekeeping.js";
import { takeBack } from "../take-back.js";
import { coolDown } from "../warm.js";

/** What git cannot do is a failed commit, not the end of the run; anything else is a bug. */
function asFailure(error: unknown): Extract<CommitOutcome, { type: "failed" }> {
  if (error instanceof GitError) return { type: "failed", why: error.message };
  throw error;
}

const MB = 1024 * 1024;

/** Commits what the phase changed; with the last commit of a phase go the marks in the plan. */
export const commit: Performer<"commit"> = async (held, { id, phase, attempt, kind }) => {
  const { run } = held;
  const { config } = run.state;
  const state = lastAttempt(run.state.phases.get(phase));
  if (state === undefined) {
    const why = "the phase was skipped meanwhile";
    await run.record({ type: "commit-skipped", command: id, phase, attempt, kind, why });
    return;
  }
  const { merge } = state.train;
  const { git } = checkoutOf(held, phase);
  if (kind !== "handover") await coolDown(held, phase);
  if (kind === "handover" && merge !== undefined) {
    await run.record({ type: "commit-skipped", command: id, phase, attempt, kind, why: "a merge is under way" });
    return;
  }
  await putRight(held, phase);
  await reportPlanEdits(held, phase, state);
  await reportStashes(held, phase, state);
  const marked = await marksFor(held, phase, state, kind);
  if (kind === "failed") {
    await writeHandoff(held, phase);
    await writeDebugReport(held, phase);
  }
  if (kind === "phase") await removeHandoff(held, phase);
  const request = requestFor(held, { id, phase, kind }, state, marked);
  if (kind === "failed" && !config.commit_on_failure) {
    await leaveWay(held, id, phase, state, request);
    return;
  }
  // A person accepted it as it was.
  if (kind === "phase" && state.commits.aside !== undefined) await takeBack(held, phase, state, git);
  const kept = config.auto_commit ? undefined : await keepSnapshot(git, request).catch(asFailure);
  const outcome: Said = kept ?? (await commitChanges(git, request).catch(asFailure));
  const isKept = outcome.type === "made" || outcome.type === "nothing";
  if (isKept && outcome.apart !== undefined) sayApart(held, phase, outcome.apart);
  const refused = isKept ? await send(held, phase) : undefined;
  await say(held, { id, phase, attempt, kind }, refused ?? (await ofAgents(held, git, state, outcome)));
  // Until it is written down, whoever goes on finds it there.
  if (isKept) await forgetWork(held, phase, git);
};

type Said = CommitOutcome & { ref?: string | undefined };

/** Others must be able to get it before the journal speaks of it. */
async function send(held: HeldRun, phase: string): Promise<Said | undefined> {
  try {
    await held.remote?.sendCommits(phase);
    return undefined;
  } catch (error) {
    if (error instanceof RemoteRefuses) return { type: "failed", why: error.message };
    throw error;
  }
}

/** Where others go on from what the journal says, it says what the agent committed by itself: it was looked at, too. */
async function ofAgents({ remote }: HeldRun, git: Git, state: Attempt, outcome: Said): Promise<Said> {
  if (remote === undefined || outcome.type !== "nothing") return outcome;
  const [from, sha] = [standsOn(state), await git.line(["rev-parse", "HEAD"])];
  if (sha === from) return outcome;
  return { type: "made", sha, files: (await treeChanges(git, from, sha)).length, leftOut: [] };
}

async function say(
  { run }: HeldRun,
  { id, phase, attempt, kind }: { id: string; phase: string; attempt: number; kind: CommitKind },
  outcome: Said,
): Promise<void> {
  switch (outcome.type) {
    case "made":
      await run.record({
        type: "commit-made",
        command: id,
        phase,
        attempt,
        kind,
        sha: outcome.sha,
        files: outcome.files,
        leftOut: outcome.leftOut,
        ref: outcome.ref,
      });
      return;
    case "nothing":
      await run.record({ type: "commit-skipped", command: id, phase, attempt, kind, why: "nothing changed" });
      return;
    case "refused": {
      const { why } = outcome;
      const output = run.putBlob(outcome.output);
      await run.record({ type: "commit-refused", command: id, phase, attempt, kind, why, output });
      return;
    }
    case "failed":
      await run.record({
        type: "commit-failed",
        command: id,
        phase,
        attempt,
        kind,
        category: "agent_error",
        why: outcome.why,
      });
      return;
    default:
      outcome satisfies never;
  }
}

function sayApart({ run }: HeldRun, phase: string, { commits, files, ref }: TakenApart): void {
  const some = files.slice(0, 5).join(", ");
  const shas = commits.map((sha) => sha.slice(0, 9)).join(", ");
  run.warn(
    `The agent committed what you had open (${some}${files.length > 5 ? ", …" : ""}) with its own work, in ${shas}: its work is in Segno's commit, your changes are uncommitted as they were. Its commits are kept: ${ref}`,
    phase,
  );
}

function requestFor(
  held: HeldRun,
  { id, phase, kind }: { id: string; phase: string; kind: CommitKind },
  state: Attempt,
  marked: Map<string, string>,
): CommitRequest {
  const { run } = held;
  const { plan, config } = run.state;
  const { origin } = state;
  const { merge } = state.train;
  return {
    message: messageOf(
      config.commit_message_template,
      phase,
      phaseOf(run.state, phase).title,
      kind === "phase" && doneMark(held, phase) === "unverified" ? "unverified" : kind,
    ),
    run: run.state.run,
    command: id,
    trailers: trailersOf(held, phase, state, kind === "phase" ? "done" : PARTIAL),
    // What is merged in is compared with what the phase had before.
    baseline: kind === "merge" && merge !== undefined ? merge.tip : origin.baseline,
    head: kind === "merge" && merge !== undefined ? merge.tip : origin.head,
    merging: kind === "merge",
    staged: origin.staged,
    // What the user changes in their checkout is nowhere else.
    usersPaths: origin.worktree === undefined ? run.state.usersPaths : new Map(),
    branch: checkoutOf(held, phase).branch,
    limits: { maxFileBytes: config.max_file_mb * MB, maxBinaryBytes: config.max_binary_mb * MB },
    plan: { files: plan.files, marked },
  };
}

/**
 * What the phases under way did so far, where nothing can be written down any more: in the history it is safe, and
 * recognised there by whoever takes the run up again.
 */
export async function commitUnrecorded(held: HeldRun): Promise<void> {
  const { phases, readiness, config } = held.run.state;
  for (const phase of config.auto_commit ? readiness.underWay : []) {
    const state = lastAttempt(phases.get(phase));
    if (state === undefined || state.train.merge !== undefined || state.split.parts.length > 0) continue;
    // No decision ever has this id: what is committed later is another commit.
    const id = commandId(phase, state.number, "unrecorded", state.commits.finished + 1);
    const request = requestFor(held, { id, phase, kind: "handover" }, state, new Map());
    // It is the last thing that can be tried.
    await commitChanges(checkoutOf(held, phase).git, request).catch(() => {});
  }
}

/** Where others work in the same checkout, what a failed phase left is set aside. */
async function leaveWay(
  held: HeldRun,
  command: string,
  phase: string,
  state: Attempt,
  request: CommitRequest,
): Promise<void> {
  const { run } = held;
  const { number: attempt, origin } = state;
  const ref = asideRef(run.state.run, phase, attempt);
  const isShared = origin.worktree === undefined && run.state.config.auto_commit;
  const aside = isShared ? await setAside(checkoutOf(held, phase).git, request, ref).catch(asFailure) : undefined;
  if (aside === undefined || "type" in aside) {
    const why = aside === undefined ? "commit_on_failure is off" : aside.why;
    await run.record({ type: "commit-skipped", command, phase, attempt, kind: "failed", why });
    return;
  }
  const { sha, stayed } = aside;
  await forgetWork(held, phase, checkoutOf(held, phase).git);
  await run.record({ type: "phase-set-aside", command, phase, attempt, ref: sha && ref, sha, stayed });
  if (stayed.length > 0)
    run.warn(
      `Phase ${phase} failed, and these stay in the working tree, because they are not its alone: ${stayed.slice(0, 10).join(", ")}`,
      phase,
    );
}

/**
 * The plan files as the commit has them. In a worktree they are nobody's to change: a failed phase is marked in the
 * run's checkout, and a merge takes them as they came.
 */
async function marksFor(
  held: HeldRun,
  phase: string,
  { progress, origin, train }: Attempt,
  kind: CommitKind,
): Promise<Map<string, string>> {
  const { merge } = train;
  const { worktree } = origin;
  const none = new Map<string, string>();
  if (kind === "handover" || (kind === "phase" && worktree !== undefined)) return none;
  if (kind === "merge") return merge === undefined ? none : filesAt(held.git, merge.base, held.run.state.plan.files);
  const status = kind === "phase" ? doneMark(held, phase) : "failed";
  const marked = await markPlan(held, phase, { status, tasksDone: progress.tasksDone }, "HEAD");
  return worktree === undefined ? marked : none;
}

/** What was stashed while the phase worked is in no commit: somebody should know. */
async function reportStashes(held: HeldRun, phase: string, state: Attempt): Promise<void> {
  const made = await stashesOf(held, phase, state, checkoutOf(held, phase).git);
  if (made.length === 0) return;
  const names = made.map(({ name, sha }) => `${name} (${sha.slice(0, 9)})`).join(", ");
  held.run.warn(
    `Stashed while phase ${phase} worked, and in no commit: ${names}. Look at it with git stash list.`,
    phase,
  );
}

/** What the plan says of a phase that is about to be done: it only comes so far where what judges it has passed. */
export function doneMark({ run }: HeldRun, phase: string): "done" | "unverified" {
  const state = stateOfPhase(run.state, phase);
  // Parts of a phase that was split are judged with the whole.
  if (!isAttempted(state) || run.state.parents.has(phase)) return "done";
  const { judged } = state.attempt;
  const judges = run.state.readiness.planned.get(phase)?.gates.length !== 0 || judged.reviewed !== undefined;
  return judges && !judged.accepted ? "done" : "unverified";
}

export function messageOf(template: string, phase: string, name: string, kind: CommitKind | "unverified"): string {
  const words: Partial<Record<typeof kind, string>> = { phase: "✓", unverified: "✓ (not verified)", merge: "merged" };
  const values: Record<string, string> = {
    phase_id: phase,
    phase_name: name,
    status: words[kind] ?? "⚠️ partial",
  };
  return template.replaceAll(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
}

/** What a commit says of its phase, for people and for later runs. */
export const trailersOf = (
  held: HeldRun,
  phase: string,
  state: Attempt,
  status: string,
): (readonly [string, string])[] => [
  [TRAILERS.plan, held.run.state.plan.file],
  [TRAILERS.phase, phase],
  [TRAILERS.tasks, taskTrailer(phaseOf(held.run.state, phase).tasks, state.progress.tasksDone)],
  [TRAILERS.status, status],
  ["Segno-Attempt", String(state.number)],
  ...creditsOf(held, state).map((credit) => ["Co-Authored-By", credit] as const),
];

/** Everybody who wrote something, in the order in which they began. */
function creditsOf({ run, crew }: HeldRun, { progress }: Attempt): string[] {
  const { sessions, config } = run.state;
  const wrote = progress.sessions.flatMap((id) => {
    const session = sessions.get(id);
    return session === undefined || session.purpose === "verify" ? [] : [session];
  });
  const credits = wrote.map(({ agent, model }) => crew.of(agent).credit(model ?? config.model ?? "default model"));
  return credits.length > 0 ? [...new Set(credits)] : [crew.own.credit(config.model ?? "default model")];
}

/** What parts of a phase that was split have done: it is marked under the phase. */
const tasksOfParts = ({ phases }: RunState, { split }: Attempt): string[] =>
  split.parts.flatMap((part) => {
    const now = phases.get(part);
    return now === undefined ? [] : leftBy(now).tasksDone;
  });

/** An agent's edit to a plan file changes nothing: the run's plan is frozen. It is said, and left out of the commit. */
async function reportPlanEdits(held: HeldRun, phase: string, state: Attempt): Promise<void> {
  const { run } = held;
  const { plan } = run.state;
  const { git, top } = checkoutOf(held, phase);
  // In a merged state they hold what others marked.
  if (state.train.merge !== undefined) return;
  const { read: readPlanFile } = planFiles(top);
  const files: string[] = [];
  const seen: string[] = [];
  for (const [file, before] of await filesAt(git, state.origin.baseline, plan.files)) {
    const now = readPlanFile(file);
    if (typeof now !== "string" || now === before || run.agentsPlans.has(contentHash(now))) continue;
    const tasksDone = [...state.progress.tasksDone, ...tasksOfParts(run.state, state)];
    const variants = (source: string) => [
      source,
      ...([undefined, "done", "unverified", "failed"] as const).flatMap((status) =>
        [true, false].map((completesFile) =>
          markPlanFile(plan, file, source, { phase, status, tasksDone, completesFile }),
        ),
      ),
    ];
    // After an interrupted commit the marks are already there, and they are ours.
    if (variants(before).includes(now)) continue;
    // So is what is said there of the parts of a phase that was split.
    if (variants(before).map(withoutParts).includes(withoutParts(now))) continue;
    files.push(file);
    seen.push(...variants(now).map(contentHash));
  }
  if (files.length > 0) await run.record({ type: "plan-edited-by-agent", phase, attempt: state.number, files, seen });
}
