import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../../agents/agent.js";
import { pruningFor, shareOfBudget } from "../../context/layers.js";
import { promptBudget } from "../../context/prompt-budget.js";
import { diffOf } from "../../git/diff.js";
import { roughTokens } from "../../handover/bounded.js";
import { unreportedWork } from "../../handover/checkpoint.js";
import {
  type ContinuationReason,
  continuationPrompt,
  type FailingGate,
  mergePrompt,
  type PhaseMetadata,
  type PhaseView,
  type Prompt,
  remediationPrompt,
  resumedPrompt,
  verifyPrompt,
  withKind,
  workPrompt,
} from "../../handover/prompts.js";
import { withToolNames } from "../../handover/templates.js";
import { wavesOf } from "../../plan/graph.js";
import type { Command } from "../../run/command.js";
import type { BlobRef } from "../../run/event.js";
import { type GateToPass, gatesToPass } from "../../run/merging.js";
import { type Attempted, isAttempted, lastAttempt } from "../../run/phase.js";
import { phaseOf, type RunState, stateOfPhase } from "../../run/state.js";
import { windowSeen } from "../../run/window.js";
import { checkoutOf } from "../checkout.js";
import { checkpointFor, saveCheckpoint } from "../checkpoint.js";
import type { HeldRun } from "../held-run.js";
import type { Performer } from "../performer.js";
import { stashesOf } from "../put-right.js";
import { sendTurn } from "../turn.js";
import { takeWarm } from "../warm.js";

/** Opens a session with its prompt, and stays until its first turn is over. */
export const startSession: Performer<"start-session"> = async (held, command) => {
  const { run, agentEnv } = held;
  const { id, session, phase, attempt, purpose, resumes } = command;
  const who = { agent: command.agent ?? run.state.config.agent, model: command.model ?? ownModel(run.state, command) };
  const agent = held.crew.of(who.agent);
  const canResume = resumes !== undefined && agent.abilities.resume && (await agent.canResume(resumes, agentEnv));
  const resume = canResume ? resumes : undefined;
  const asksCheckpoint = resume !== undefined && command.opening === "checkpoint";
  const prompt = asksCheckpoint
    ? { text: withKind(withToolNames(held.texts, agent.toolName).checkpoint, "checkpoint") }
    : await promptFor(held, command, resume !== undefined);
  const place = { session, phase, attempt };
  const live = await takeWarm(held, { ...place, purpose }, who, resume !== undefined);
  held.sessions.set(session, live);
  await run.record(
    {
      type: "session-started",
      ...place,
      purpose,
      agent: who.agent,
      prompt: run.putBlob(prompt.text),
      promptTokens: roughTokens(prompt.text),
      layers: "layers" in prompt ? prompt.layers : undefined,
      resumed: resume !== undefined,
      most: run.state.config.max_sessions_per_phase,
      idle: { count: idleHandovers(run.state, phase), most: run.state.config.max_restarts },
    },
    { type: "turn-started", ...place, turn: asksCheckpoint ? "checkpoint" : "work" },
  );
  if ("warnings" in prompt) for (const message of prompt.warnings) run.warn(message, phase);
  warnOfPromptBudget(held, phase, roughTokens(prompt.text));
  await live.open(resume);
  const end = await sendTurn(held, live, prompt.text, asksCheckpoint);
  if (asksCheckpoint) await saveCheckpoint(held, live, place, end);
  const said = live.said === "" ? undefined : run.putBlob(live.said);
  await run.record({ type: "turn-ended", command: id, ...place, end, said });
};

/** A command of an older journal names nobody: then it is the run's own agent, with its model. */
const ownModel = ({ config }: RunState, { agent }: StartSession): string | undefined =>
  agent === undefined ? config.model : undefined;

const idleHandovers = ({ phases }: RunState, phase: string): number =>
  lastAttempt(phases.get(phase))?.progress.idleHandovers ?? 0;

const BUDGET_LEVELS = [95, 75];

/** What Segno itself says must stay small: warned of once per phase and level. */
function warnOfPromptBudget(held: HeldRun, phase: string, tokens: number): void {
  const { state } = held.run;
  const budget = promptBudget(state.config.prompt_budget, windowSeen(state));
  const level = BUDGET_LEVELS.find((percent) => tokens * 100 >= budget * percent);
  if (level === undefined) return;
  held.run.warn(
    `Segno's prompt for phase ${phase} is at ${level} % of the prompt budget or above it: ${tokens} of ${budget} tokens. Shorten the phase's text, or raise prompt_budget.`,
    phase,
  );
}

type StartSession = Extract<Command, { type: "start-session" }>;

async function promptFor(
  held: HeldRun,
  { phase: id, purpose, agent }: StartSession,
  resumed: boolean,
): Promise<Prompt | { text: string }> {
  const { run } = held;
  const state = stateOfPhase(run.state, id);
  if (!isAttempted(state)) throw new Error(`phase ${id} has no attempt`);
  const { attempt } = state;
  const { sessions, sessionsBefore, tasksDone } = attempt.progress;
  const { merge } = attempt.train;
  const view = await phaseView(held, id, tasksDone, purpose, held.crew.of(agent ?? run.state.config.agent));
  const reason = reasonOf(run.ledger(id).lastEnd?.reason);
  if (resumed) return { text: resumedPrompt(view, reason, unreportedWork(run.ledger(id))) };
  // The session itself is already counted: the one before it is the last but one.
  const previous = sessions.at(-2);
  const handoff = run.state.handoffs.get(id);
  const handedOver =
    previous !== undefined
      ? await checkpointFor(held, id, previous)
      : handoff === undefined
        ? undefined
        : withoutFront((await run.getBlob(handoff)) ?? "");
  if (purpose === "verify") return verifyPrompt(view, await diffOf(checkoutOf(held, id).git, attempt.origin.baseline));
  if (purpose === "merge" && merge !== undefined) {
    const failing = await failingGates(held, id, state);
    return mergePrompt(view, { ...merge, merged: mergedSince(held, id) }, failing, handedOver);
  }
  if (purpose === "remediate") {
    return remediationPrompt(view, await failingGates(held, id, state), handedOver);
  }
  if (handedOver === undefined) return workPrompt(view);
  const n = sessions.length - sessionsBefore;
  const why = previous === undefined ? "failed" : reason;
  return continuationPrompt(view, { n, most: run.state.config.max_sessions_per_phase, why }, handedOver);
}

async function failingGates({ run }: HeldRun, id: string, state: Attempted): Promise<FailingGate[]> {
  const failing = state.step === "remediating" ? state.failing : [];
  const gates = gatesToPass(run.state, id, state.attempt);
  return Promise.all(
    failing.map(async (result) => ({
      ...result,
      command: commandOf(gates.find((gate) => gate.id === result.gate)),
      output: (await run.getBlob(result.output as BlobRef)) ?? "",
    })),
  );
}

/** What was merged before this phase, newest last. */
function mergedSince({ run }: HeldRun, id: string): string[] {
  const { merged, readiness, parents } = run.state;
  return [...merged.keys()]
    .filter((other) => parents.get(other) === parents.get(id))
    .map((other) => `${other}: ${readiness.planned.get(other)?.title ?? ""}`);
}

const withoutFront = (text: string): string => text.replace(/^---\n[\s\S]*?\n---\n/, "").trim();

const commandOf = (gate: GateToPass | undefined): string =>
  gate?.check.type === "command" ? gate.check.command : (gate?.name ?? "");

async function phaseView(
  held: HeldRun,
  id: string,
  tasksDone: readonly string[],
  purpose: StartSession["purpose"],
  agent: Agent,
): Promise<PhaseView> {
  const { run } = held;
  const { plan, phases, config, contextAnswer } = run.state;
  const pruning = pruningFor(config.pruning, {
    phases: plan.phases.length,
    repairing: purpose === "remediate",
    forced: contextAnswer === "force",
  });
  const finished: PhaseMetadata[] = [];
  for (const phase of plan.phases) {
    if (phases.get(phase.id)?.step !== "done") continue;
    const { summary, decisions, gates, answer, filesModified: files } = run.ledger(phase.id);
    const passed = [...gates.values()].filter((gate) => gate.passed).map((gate) => gate.name);
    const said = answer === undefined || pruning === "aggressive" ? "" : ((await run.getBlob(answer)) ?? "");
    const { id: of, title, file } = phase;
    finished.push({ id: of, title, summary, decisions, files, gates: passed, file, answer: said });
  }
  const budget = promptBudget(config.prompt_budget, windowSeen(run.state));
  const attempt = lastAttempt(phases.get(id));
  const stashed = attempt === undefined ? [] : await stashesOf(held, id, attempt, checkoutOf(held, id).git);
  return {
    plan,
    phase: phaseOf(run.state, id),
    tasksDone,
    finished,
    stashes: stashed.map(({ name }) => name),
    texts: withToolNames(held.texts, agent.toolName),
    toolName: agent.toolName,
    pruning,
    budget,
    share: shareOfBudget(config.budget_strategy, phaseOf(run.state, id), budget, purpose === "remediate"),
    standards: standardsFor(held, agent),
    wave: waveOf(run.state, id),
  };
}

/** What people wrote down for whoever works here, and this agent does not read by itself. */
function standardsFor({ top, isolated, run }: HeldRun, agent: Agent): string[] {
  const own = isolated ? [] : agent.reads;
  const { standards, file } = run.state.plan;
  const files = STANDARDS.filter((name) => !own.includes(name) && existsSync(join(top, name)));
  return standards === undefined ? files : [...files, `${file} (${standards})`];
}

const STANDARDS = ["AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".github/copilot-instructions.md"];

/** Where the phase stands in the plan, and who else is at work. */
function waveOf({ plan, parents, readiness }: RunState, id: string): string {
  const whole = plan.phases.filter((phase) => !parents.has(phase.id));
  const waves = wavesOf(whole);
  const own = parents.get(id) ?? id;
  const at = waves.findIndex((wave) => wave.includes(own));
  const beside = [...readiness.underWay].filter((other) => other !== id && other !== parents.get(id));
  const others = beside.map((other) => `${other} ${readiness.planned.get(other)?.title ?? ""}`.trim());
  const estimate = readiness.planned.get(own)?.estimate;
  return [
    waves.length > 1 ? `Wave ${at + 1} of ${waves.length} of the plan.` : "",
    others.length === 0 ? "" : `At work at the same time, elsewhere: ${others.join("; ")}.`,
    estimate === undefined ? "" : `The plan estimates ${estimate} for this phase.`,
  ]
    .filter((text) => text !== "")
    .join(" ");
}

function reasonOf(end: string | undefined): ContinuationReason {
  switch (end) {
    case "crashed":
    case "killed":
    case "stopped":
    case "stuck":
    case "limit":
      return end;
    case "api-error":
    case "timeout":
      return "crashed";
    default:
      return "context";
  }
}
