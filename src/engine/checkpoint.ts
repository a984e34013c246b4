/**
 * Checkpoints of a phase: what its sessions handed over, each a blob that an event names, read back with suspicion. What
 * the ledger and git say is always added fresh, so that an older one, or none, still does.
 */
import { asGitError, type Git, GitError } from "../git/git.js";
import { changedSince } from "../git/start.js";
import { readBlock } from "../handover/block.js";
import { roughTokens } from "../handover/bounded.js";
import { type Rendered, renderCheckpoint } from "../handover/checkpoint.js";
import { type Handed, readHanded, writeHanded } from "../handover/handed.js";
import type { Plan } from "../plan/model.js";
import type { ChangedFile } from "../run/changed-file.js";
import type { BlobRef, TurnEnd } from "../run/event.js";
import { type Attempt, isAttempted } from "../run/phase.js";
import { phaseOf } from "../run/state.js";
import { checkoutOf } from "./checkout.js";
import type { HeldRun, OpenSession } from "./held-run.js";

/** An answer that hands nothing over. */
const REFUSAL = /^\W*(sorry|apolog|i('m| am)? (sorry|unable|not able|can('|no)t|won'?t)|i (cannot|can't|won't))/i;
const LEAST_ANSWER = 80;

export async function saveCheckpoint(
  held: HeldRun,
  live: OpenSession,
  place: { session: string; phase: string; attempt: number },
  end: TurnEnd,
): Promise<void> {
  const { run } = held;
  const handed = handedOver(live, end);
  const rendered = await render(held, place.phase, handed, place.session);
  if (rendered === undefined) return;
  const { text, contradictions } = rendered;
  const kept = live.handed?.kept ?? (handed === undefined ? undefined : run.putBlob(writeHanded(handed)));
  await run.record({
    type: "checkpoint-saved",
    ...place,
    checkpoint: run.putBlob(text),
    handed: kept,
    source: handed?.type ?? "ledger",
    tokens: roughTokens(text),
    contradictions,
  });
  if (handed !== undefined)
    await held.store.leaveNote(run.state.run, "CHECKPOINT.md", `# Checkpoint of ${place.session}\n\n${text}\n`);
}

/** The tool's claims, else the block, else the whole answer; what did not come to an end is not trusted. */
function handedOver({ handed, said }: OpenSession, end: TurnEnd): Handed | undefined {
  if (handed !== undefined) return { type: "tool", claims: handed.claims };
  if (end.type !== "finished" && end.type !== "stopped") return undefined;
  const block = readBlock(said);
  if (block !== undefined) return { type: "block", text: block };
  const answer = said.trim();
  if (answer.length < LEAST_ANSWER || REFUSAL.test(answer)) return undefined;
  return { type: "answer", text: answer };
}

/** What the next session of the phase is told of the one before it: the newest checkpoint that is whole, audited now. */
export async function checkpointFor(
  held: HeldRun,
  phase: string,
  previous: string,
  attempt?: Attempt,
): Promise<string> {
  const { run } = held;
  const kept = run.ledger(phase).checkpoints.slice(-run.state.config.checkpoint_slots);
  const rendered = await render(held, phase, await newestWhole(held, phase, kept), previous, attempt);
  return rendered?.text ?? "";
}

async function newestWhole(
  { run }: HeldRun,
  phase: string,
  kept: readonly { session: string; handed: BlobRef }[],
): Promise<Handed | undefined> {
  for (const { session, handed } of kept.toReversed()) {
    const text = await run.getBlob(handed);
    const read = text === undefined ? undefined : readHanded(text);
    if (read !== undefined) return read;
    const why = text === undefined ? "is damaged" : "was written by a newer Segno";
    run.warn(`The checkpoint of ${session} ${why}: an older one and the ledger serve instead.`, phase);
  }
  return undefined;
}

/** What the phase changed; marks in the plan are Segno's own. Undefined where git cannot be read. */
export async function changedByPhase(git: Git, baseline: string, plan: Plan): Promise<ChangedFile[] | undefined> {
  const files = await changedSince(git, baseline).catch(asGitError);
  return files instanceof GitError ? undefined : files.filter(({ path }) => !plan.files.includes(path));
}

async function render(
  held: HeldRun,
  phase: string,
  handed: Handed | undefined,
  session: string,
  attempt?: Attempt,
): Promise<Rendered | undefined> {
  const { run } = held;
  const { git } = checkoutOf(held, phase);
  const now = run.state.phases.get(phase);
  const about = attempt ?? (isAttempted(now) ? now.attempt : undefined);
  if (about === undefined) return undefined;
  const files = await changedByPhase(git, about.origin.baseline, run.state.plan);
  if (files === undefined)
    run.warn(
      `Git cannot be read where phase ${phase} works: the next session is told that its changes are not known.`,
      phase,
    );
  return renderCheckpoint({
    handed,
    ledger: run.ledger(phase),
    files,
    tasks: phaseOf(run.state, phase).tasks,
    tasksDone: about.progress.tasksDone,
    session,
    tokens: run.state.config.checkpoint_tokens,
  });
}
