/** Every text Segno says to an agent. */
import type { Phase, Plan } from "../plan/model.js";
import { TOOL_PREFIX } from "../tools/mcp.js";
import { bulletList, clip, clipMiddle } from "./bounded.js";

/** What the next phases know of a finished one. */
export interface PhaseMetadata {
  id: string;
  title: string;
  summary: string;
  decisions: readonly string[];
  file: string;
}

export interface PhaseView {
  plan: Plan;
  phase: Phase;
  tasksDone: readonly string[];
  finished: readonly PhaseMetadata[];
}

export type ContinuationReason = "context" | "crashed" | "killed" | "stopped";

const WHY: Record<ContinuationReason, string> = {
  context: "its context window was nearly full",
  crashed: "it ended unexpectedly",
  killed: "Segno itself was interrupted",
  stopped: "the user stopped the run",
};

export function workPrompt(view: PhaseView): string {
  return [
    `You are carrying out phase ${view.phase.id} of a plan, unattended: nobody can answer questions.`,
    ...phaseParts(view),
  ].join("\n\n");
}

export function continuationPrompt(view: PhaseView, n: number, why: ContinuationReason, checkpoint: string): string {
  return [
    `You are continuing phase ${view.phase.id} of a plan, unattended: nobody can answer questions. This is session ${n} of the phase: the previous one ended because ${WHY[why]}. Its work is in the working tree. Do not repeat what is done; go on with the first open task.`,
    `## Checkpoint of the previous session\n\n${checkpoint}`,
    ...phaseParts(view),
  ].join("\n\n");
}

export interface FailingGate {
  name: string;
  command: string;
  why: string;
  output: string;
}

export function remediationPrompt(
  view: PhaseView,
  failing: readonly FailingGate[],
  checkpoint: string | undefined,
): string {
  const gates = failing.map(
    (gate) =>
      `### ${gate.name} (${gate.why})\n\nCommand: \`${gate.command}\`\n\n\`\`\`\n${clipMiddle(gate.output, 6_000)}\n\`\`\``,
  );
  return [
    `You are repairing phase ${view.phase.id} of a plan, unattended: nobody can answer questions. Its tasks were reported as done, but Segno ran its gates and they fail. Find the cause, repair it, run the failing commands yourself, then report the result. Do not weaken a gate or a test to make it pass.`,
    `## Failing gates\n\n${gates.join("\n\n")}`,
    ...(checkpoint === undefined ? [] : [`## Checkpoint of the previous session\n\n${checkpoint}`]),
    ...phaseParts(view),
  ].join("\n\n");
}

function taskList({ phase, tasksDone }: PhaseView): string {
  const done = new Set(tasksDone);
  const tasks = phase.tasks.map((task) => `- [${done.has(task.id) ? "x" : " "}] ${task.id} ${task.title}`);
  return `## State of the tasks\n\n${tasks.join("\n")}`;
}

function phaseParts(view: PhaseView): string[] {
  const { plan, phase, finished } = view;
  return [
    `# Plan: ${plan.title}${plan.goal === "" ? "" : `\n\n${clip(plan.goal, 600)}`}`,
    ...(finished.length === 0 ? [] : [`## Phases that are done\n\n${finished.map(renderMetadata).join("\n\n")}`]),
    HOW_IT_WORKS,
    ...otherTools(phase.text),
    `# Phase ${phase.id}: ${phase.title}`,
    ...(phase.tasks.length === 0 ? [] : [taskList(view)]),
    `## The phase as the user wrote it (${phase.file})\n\n${phase.text.trim()}`,
  ];
}

function renderMetadata({ id, title, summary, decisions, file }: PhaseMetadata): string {
  const words = summary.split(/\s+/).slice(0, 50).join(" ");
  const lines = [`Phase ${id}: ${title}. ${words}`];
  if (decisions.length > 0) lines.push(bulletList(decisions, 5, 160));
  lines.push(`Its full text: ${file}`);
  return lines.join("\n");
}

const HOW_IT_WORKS = `# How this works

- When a task is finished, call \`${TOOL_PREFIX}progress\` with its id, in the same message as your next tool call. What is not reported may be done again by a later session.
- Call \`${TOOL_PREFIX}decision\` for a decision that later work must respect.
- When all tasks are done, or the phase cannot go on, call \`${TOOL_PREFIX}phase_result\` once and stop. Segno then runs the gates itself; only tool calls, git and gates count, not what you write.
- Do not commit, switch branches or stash: Segno commits. Do not edit the plan's own files: Segno marks them.
- If the phase is too large for one context window, go on working: Segno hands over to a fresh session in time.`;

/** Into a conversation that was cut off when Segno ended: what it was doing last may be half done. */
export function resumedPrompt(view: PhaseView, unreported: string): string {
  return [
    `Segno was interrupted and this conversation with it; it goes on now. Your last tool call may have been cut off: look at what it left before you repeat it. Go on with phase ${view.phase.id}.`,
    taskList(view),
    ...(unreported === "" ? [] : [unreported]),
  ].join("\n\n");
}

export const goOnPrompt = (): string => "The run was paused and goes on now. Continue where you stopped.";

/** Plans written for other tools name their commands: what they mean here. */
const OTHER_TOOLS: [RegExp, string, string][] = [
  [/\bdebussy done\b/, "`debussy done`", "`phase_result`"],
  [/\/debussy-progress\b/, "`/debussy-progress`", "`progress`"],
  [/\/autopilot\b/, "`/autopilot`", "nothing to do: Segno itself runs the phases"],
];

function otherTools(text: string): string[] {
  const named = OTHER_TOOLS.filter(([form]) => form.test(text));
  if (named.length === 0) return [];
  const lines = named.map(
    ([, theirs, ours]) => `- ${theirs}: ${ours.startsWith("`") ? `call \`${TOOL_PREFIX}${ours.slice(1)}` : ours}`,
  );
  return [`The plan names commands of another tool. Here they mean:\n${lines.join("\n")}`];
}

export const nudgePrompt = (): string =>
  `You ended your turn without reporting a result. If tasks are left, do them now. When the phase is finished, or cannot go on, call \`${TOOL_PREFIX}phase_result\`.`;

export const checkpointPrompt = (): string =>
  `Your context window is nearly full: a fresh session will go on with this phase, and all it knows is what you hand over now. Call \`${TOOL_PREFIX}checkpoint\` with: the goal in two sentences; the completed work, per file what changed; the remaining tasks in order, with their ids; what must not be done again; decisions and constraints. Report finished tasks that you have not reported yet with \`${TOOL_PREFIX}progress\` in the same message. Use no other tool, and then stop.`;
