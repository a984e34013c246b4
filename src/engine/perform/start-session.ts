import { changedSince } from "../../git/start.js";
import { roughTokens } from "../../handover/bounded.js";
import { renderCheckpoint } from "../../handover/checkpoint.js";
import {
  type ContinuationReason,
  continuationPrompt,
  type PhaseMetadata,
  type PhaseView,
  remediationPrompt,
  workPrompt,
} from "../../handover/prompts.js";
import type { Command } from "../../run/command.js";
import { isAttempt, phaseOf, stateOfPhase } from "../../run/state.js";
import { LiveSession } from "../live-session.js";
import type { Performer } from "../performer.js";
import type { World } from "../world.js";

/** Opens a fresh session with its prompt, and stays until its first turn is over. */
export const startSession: Performer<"start-session"> = async (world, command) => {
  const { run } = world;
  const { id, session, phase, attempt, purpose } = command;
  const prompt = await promptFor(world, command);
  const live = new LiveSession(world, { session, phase, attempt });
  world.sessions.set(session, live);
  const blob = run.putBlob(prompt);
  run.append(
    { type: "session-started", session, phase, attempt, purpose, prompt: blob, promptTokens: roughTokens(prompt) },
    { type: "turn-started", session, phase, attempt, turn: "work" },
  );
  const agent = await live.open();
  const end = await agent.send(prompt);
  run.append({ type: "turn-ended", command: id, session, phase, attempt, end });
};

type StartSession = Extract<Command, { type: "start-session" }>;

async function promptFor(world: World, { phase: id, purpose }: StartSession): Promise<string> {
  const { run } = world;
  const state = stateOfPhase(run.state, id);
  if (!isAttempt(state)) throw new Error(`phase ${id} has no attempt`);
  const view = phaseView(world, id, state.tasksDone);
  // The session itself is already counted: the one before it is the last but one.
  const previous = state.sessions.at(-2);
  const handedOver =
    previous === undefined ? undefined : await handoverText(world, id, state.baseline, state.tasksDone, previous);
  if (purpose === "remediate" && (state.step === "working" || state.step === "remediating")) {
    const failing = state.failing.map((result) => ({
      ...result,
      command: view.phase.gates.find((gate) => gate.id === result.gate)?.command ?? "",
      output: run.getBlob(result.output as `sha256:${string}`) ?? "",
    }));
    return remediationPrompt(view, failing, handedOver);
  }
  if (handedOver === undefined) return workPrompt(view);
  return continuationPrompt(view, state.sessions.length, reasonOf(run.ledger(id).lastEnd?.reason), handedOver);
}

function phaseView({ run }: World, id: string, tasksDone: readonly string[]): PhaseView {
  const { plan, phases } = run.state;
  const finished = plan.phases.flatMap((phase): PhaseMetadata[] => {
    if (phases.get(phase.id)?.step !== "done") return [];
    const { summary, decisions } = run.ledger(phase.id);
    return [{ id: phase.id, title: phase.title, summary, decisions, file: phase.file }];
  });
  return { plan, phase: phaseOf(run.state, id), tasksDone, finished };
}

/** The checkpoint the previous session left; where it left none, the ledger and git alone. */
async function handoverText(
  world: World,
  id: string,
  baseline: string,
  tasksDone: string[],
  previous: string,
): Promise<string> {
  const { run, git } = world;
  const ledger = run.ledger(id);
  const saved = ledger.checkpoint?.session === previous ? run.getBlob(ledger.checkpoint.ref) : undefined;
  if (saved !== undefined) return saved;
  const files = await changedSince(git, baseline);
  return renderCheckpoint({ claims: undefined, ledger, files, tasks: phaseOf(run.state, id).tasks, tasksDone });
}

function reasonOf(end: string | undefined): ContinuationReason {
  switch (end) {
    case "crashed":
    case "killed":
    case "stopped":
      return end;
    default:
      return "context";
  }
}
