import { promptBudget } from "../../context/budget.js";
import { changedSince } from "../../git/start.js";
import { roughTokens } from "../../handover/bounded.js";
import { renderCheckpoint, unreportedWork } from "../../handover/checkpoint.js";
import {
  type ContinuationReason,
  checkpointPrompt,
  continuationPrompt,
  type PhaseMetadata,
  type PhaseView,
  remediationPrompt,
  resumedPrompt,
  workPrompt,
} from "../../handover/prompts.js";
import type { Gate } from "../../plan/model.js";
import type { Command } from "../../run/command.js";
import { isAttempt, phaseOf, stateOfPhase } from "../../run/state.js";
import { saveCheckpoint } from "../checkpoint.js";
import { LiveSession } from "../live-session.js";
import type { Performer } from "../performer.js";
import { takeWarm } from "../warm.js";
import type { World } from "../world.js";

/** Opens a session with its prompt, and stays until its first turn is over. */
export const startSession: Performer<"start-session"> = async (world, command) => {
  const { run, agent, agentEnv } = world;
  const { id, session, phase, attempt, purpose, resumes } = command;
  const resume = resumes !== undefined && agent.canResume(resumes, agentEnv) ? resumes : undefined;
  const asksCheckpoint = resume !== undefined && command.opening === "checkpoint";
  const prompt = asksCheckpoint ? checkpointPrompt() : await promptFor(world, command, resume !== undefined);
  const place = { session, phase, attempt };
  const live = resume === undefined ? takeWarm(world, place) : new LiveSession(world, place);
  world.sessions.set(session, live);
  const blob = run.putBlob(prompt);
  run.append(
    {
      type: "session-started",
      ...place,
      purpose,
      prompt: blob,
      promptTokens: roughTokens(prompt),
      resumed: resume !== undefined,
    },
    { type: "turn-started", ...place, turn: asksCheckpoint ? "checkpoint" : "work" },
  );
  warnOfBudget(world, place, roughTokens(prompt));
  const opened = await live.open(resume);
  const end = await opened.send(prompt, { onlySegnoTools: asksCheckpoint });
  if (asksCheckpoint) await saveCheckpoint(world, live, place);
  run.append({ type: "turn-ended", command: id, ...place, end });
};

const BUDGET_LEVELS = [95, 75];

/** What Segno itself says must stay small: warned of once per phase and level. */
function warnOfBudget({ run }: World, { phase }: { phase: string }, tokens: number): void {
  const { prompt_budget, context_limit } = run.state.config;
  const budget = promptBudget(prompt_budget, context_limit);
  const level = BUDGET_LEVELS.find((percent) => tokens * 100 >= budget * percent);
  if (level === undefined) return;
  const message = `Segno's prompt for phase ${phase} is at ${level} % of the prompt budget or above it: ${tokens} of ${budget} tokens. Shorten the phase's text, or raise prompt_budget.`;
  if (!run.warnings.has(message)) run.append({ type: "warned", phase, message });
}

type StartSession = Extract<Command, { type: "start-session" }>;

async function promptFor(world: World, { phase: id, purpose }: StartSession, resumed: boolean): Promise<string> {
  const { run } = world;
  const state = stateOfPhase(run.state, id);
  if (!isAttempt(state)) throw new Error(`phase ${id} has no attempt`);
  const view = phaseView(world, id, state.tasksDone);
  if (resumed) return resumedPrompt(view, unreportedWork(run.ledger(id)));
  // The session itself is already counted: the one before it is the last but one.
  const previous = state.sessions.at(-2);
  const handedOver =
    previous === undefined ? undefined : await handoverText(world, id, state.baseline, state.tasksDone, previous);
  if (purpose === "remediate" && (state.step === "working" || state.step === "remediating")) {
    const failing = state.failing.map((result) => ({
      ...result,
      command: commandOf(view.phase.gates.find((gate) => gate.id === result.gate)),
      output: run.getBlob(result.output as `sha256:${string}`) ?? "",
    }));
    return remediationPrompt(view, failing, handedOver);
  }
  if (handedOver === undefined) return workPrompt(view);
  return continuationPrompt(view, state.sessions.length, reasonOf(run.ledger(id).lastEnd?.reason), handedOver);
}

const commandOf = (gate: Gate | undefined): string =>
  gate?.check.type === "command" ? gate.check.command : (gate?.name ?? "");

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
  const files = await changedSince(git, baseline).catch(() => []);
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
