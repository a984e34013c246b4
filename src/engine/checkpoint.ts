/**
 * Checkpoints of a phase: taken from what the session handed over, kept in a few slots, read back with suspicion. What
 * the ledger and git say is always added fresh, so that an older one, or none, still does.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "../git/git.js";
import { type ChangedFile, changedSince } from "../git/start.js";
import { readBlock } from "../handover/block.js";
import { roughTokens } from "../handover/bounded.js";
import { type Handed, type Rendered, renderCheckpoint } from "../handover/checkpoint.js";
import { readSlot, writeSlot } from "../handover/slot.js";
import type { Plan } from "../plan/model.js";
import type { TurnEnd } from "../run/event.js";
import { type Attempt, isAttempt, phaseOf, stateOfPhase } from "../run/state.js";
import { groundOf } from "./ground.js";
import type { OpenSession, World } from "./world.js";

const folderOf = (world: World): string => join(world.run.folder, "checkpoints");
const fileOf = (world: World, slot: string): string => join(folderOf(world), slot);

/** An answer that hands nothing over. */
const REFUSAL = /^\W*(sorry|apolog|i('m| am)? (sorry|unable|not able|can('|no)t|won'?t)|i (cannot|can't|won't))/i;
const LEAST_ANSWER = 80;

export async function saveCheckpoint(
  world: World,
  live: OpenSession,
  place: { session: string; phase: string; attempt: number },
  end: TurnEnd,
): Promise<void> {
  const { run } = world;
  const handed = handedOver(live, end);
  const rendered = await render(world, place.phase, handed, place.session);
  if (rendered === undefined) return;
  const { text, contradictions } = rendered;
  const slot = handed === undefined ? "" : `${place.session.replaceAll(/[^\w.-]/g, "-")}.json`;
  if (handed !== undefined) {
    mkdirSync(folderOf(world), { recursive: true });
    writeFileSync(fileOf(world, slot), writeSlot(place.session, handed));
    // For people; nothing reads it.
    writeFileSync(join(run.folder, "CHECKPOINT.md"), `# Checkpoint of ${place.session}\n\n${text}\n`);
  }
  run.append({
    type: "checkpoint-saved",
    ...place,
    checkpoint: run.putBlob(text),
    slot,
    source: handed?.type ?? "ledger",
    tokens: roughTokens(text),
    contradictions,
  });
  const old = run.ledger(place.phase).checkpoints.filter((kept) => kept.slot !== "");
  for (const { slot: file } of old.slice(0, -run.state.config.checkpoint_slots))
    rmSync(fileOf(world, file), { force: true });
}

/** The tool's claims, else the block, else the whole answer; what did not come to an end is not trusted. */
function handedOver({ claims, said }: OpenSession, end: TurnEnd): Handed | undefined {
  if (claims !== undefined) return { type: "tool", claims };
  if (end.type !== "finished" && end.type !== "stopped") return undefined;
  const block = readBlock(said);
  if (block !== undefined) return { type: "block", text: block };
  const answer = said.trim();
  if (answer.length < LEAST_ANSWER || REFUSAL.test(answer)) return undefined;
  return { type: "answer", text: answer };
}

/** What the next session of the phase is told of the one before it: the newest checkpoint that is whole, audited now. */
export async function checkpointFor(
  world: World,
  phase: string,
  previous: string,
  attempt?: Pick<Attempt, "baseline" | "tasksDone">,
): Promise<string> {
  const { run } = world;
  const kept = run
    .ledger(phase)
    .checkpoints.filter(({ slot }) => slot !== "")
    .slice(-run.state.config.checkpoint_slots);
  const handed = kept.length === 0 ? undefined : newestWhole(world, phase, kept);
  const rendered = await render(world, phase, handed, previous, attempt);
  return rendered?.text ?? "";
}

function newestWhole(world: World, phase: string, kept: readonly { slot: string }[]): Handed | undefined {
  for (const { slot } of kept.toReversed()) {
    const read = readKept(fileOf(world, slot));
    if (read.ok) return read.handed;
    const message = `The checkpoint ${slot} is damaged (${read.why}): an older one and the ledger serve instead.`;
    if (!world.run.warnings.has(message)) world.run.append({ type: "warned", phase, message });
  }
  return undefined;
}

function readKept(file: string): ReturnType<typeof readSlot> {
  try {
    return readSlot(readFileSync(file, "utf8"));
  } catch {
    return { ok: false, why: "it cannot be read" };
  }
}

/** What the phase changed; marks in the plan are Segno's own. */
export async function changedByPhase(git: Git, baseline: string, plan: Plan): Promise<ChangedFile[]> {
  const files = await changedSince(git, baseline).catch(() => []);
  return files.filter(({ path }) => !plan.files.includes(path));
}

async function render(
  world: World,
  phase: string,
  handed: Handed | undefined,
  session: string,
  attempt?: Pick<Attempt, "baseline" | "tasksDone">,
): Promise<Rendered | undefined> {
  const { run } = world;
  const { git } = groundOf(world, phase);
  const now = stateOfPhase(run.state, phase);
  const state = attempt ?? (isAttempt(now) ? now : undefined);
  if (state === undefined) return undefined;
  const files = await changedByPhase(git, state.baseline, run.state.plan);
  return renderCheckpoint({
    handed,
    ledger: run.ledger(phase),
    files,
    tasks: phaseOf(run.state, phase).tasks,
    tasksDone: state.tasksDone,
    session,
    tokens: run.state.config.checkpoint_tokens,
  });
}

/** A finished phase needs none of them any more. */
export function dropCheckpoints(world: World, phase: string): void {
  for (const { slot } of world.run.ledger(phase).checkpoints)
    if (slot !== "") rmSync(fileOf(world, slot), { force: true });
}
