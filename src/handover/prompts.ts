/** Every prompt Segno gives to an agent, made of the templates and what is known. */
import { composeLayers, type FinishedPhase, type LayerSizes, type Pruning } from "../context/layers.js";
import { markedText } from "../plan/marked-text.js";
import type { Phase, Plan } from "../plan/model.js";
import { criteriaOf } from "../plan/review.js";
import type { ToolName } from "../tools/tools.js";
import { bulletList, clip, clipMiddle, roughTokens } from "./bounded.js";
import { DEFAULT_TEXTS, fill, type PromptTexts, type TemplateName, withToolNames } from "./templates.js";
import { stashNote } from "./told.js";

/** What the next phases know of a finished one. */
export interface PhaseMetadata {
  id: string;
  title: string;
  summary: string;
  decisions: readonly string[];
  files: readonly string[];
  gates: readonly string[];
  /** Where its full text is. */
  file: string;
  answer: string;
}

export interface PhaseView {
  plan: Plan;
  phase: Phase;
  tasksDone: readonly string[];
  finished: readonly PhaseMetadata[];
  /** What earlier sessions of the phase stashed and nobody took, as git calls it. */
  stashes: readonly string[];
  texts: PromptTexts;
  /** What the agent's model sees as the name of one of Segno's tools. */
  toolName: (tool: ToolName) => string;
  pruning: Pruning;
  /** Tokens that Segno may say, and how many of them about other phases. */
  budget: number;
  share: number;
  /** Files with the project's standards that the agent does not read by itself. */
  standards: readonly string[];
  /** Where the phase stands in the plan, and who else is at work. */
  wave: string;
}

export type ContinuationReason = "context" | "crashed" | "killed" | "stopped" | "limit" | "stuck" | "failed";

const WHY: Record<ContinuationReason, string> = {
  context: "its context window was nearly full",
  crashed: "it ended unexpectedly",
  killed: "Segno itself was interrupted",
  stopped: "the user stopped the run",
  limit: "a usage limit was reached",
  stuck: "it went round in circles",
  failed: "an earlier run could not finish the phase",
};

export interface Prompt {
  text: string;
  layers: LayerSizes;
  warnings: string[];
}

/** A phase before anything is known of it, for sizes. */
export const firstView = (plan: Plan, phase: Phase): PhaseView => ({
  plan,
  phase,
  tasksDone: [],
  finished: [],
  stashes: [],
  texts: withToolNames(DEFAULT_TEXTS, (tool) => tool),
  toolName: (tool) => tool,
  pruning: "moderate",
  budget: Number.POSITIVE_INFINITY,
  share: Number.POSITIVE_INFINITY,
  standards: [],
  wave: "",
});

export const workPrompt = (view: PhaseView): Prompt => compose(view, "work", "", {});

export function continuationPrompt(
  view: PhaseView,
  session: { n: number; most: number; why: ContinuationReason },
  checkpoint: string,
): Prompt {
  const { n, most, why } = session;
  const values = { n: String(n), most: String(most), why: WHY[why] };
  return compose(view, "continue", checkpoint === "" ? NOTHING_KNOWN : checkpoint, values);
}

/** The minimal form: nothing was handed over, and nothing was seen. */
const NOTHING_KNOWN =
  "Nothing is known of what it did. Look at the working tree before you begin: git status, git diff.";

export interface FailingGate {
  name: string;
  command: string;
  why: string;
  output: string;
}

const gateText = (gate: FailingGate): string =>
  `### ${gate.name} (${gate.why})\n\nCommand: \`${gate.command}\`\n\n\`\`\`\n${clipMiddle(gate.output, 6_000)}\n\`\`\``;

export function remediationPrompt(
  view: PhaseView,
  failing: readonly FailingGate[],
  checkpoint: string | undefined,
): Prompt {
  const gates = failing.map(gateText);
  const handedOver = checkpoint === undefined ? "" : `## Checkpoint of the previous session\n\n${checkpoint}`;
  return compose(view, "remediate", handedOver, { gates: gates.join("\n\n") });
}

export interface MergedState {
  conflicts: readonly string[];
  /** What came meanwhile, as `id: title`. */
  merged: readonly string[];
}

/** In a worktree that holds the phase and what others merged meanwhile. */
export function mergePrompt(
  view: PhaseView,
  { conflicts, merged }: MergedState,
  failing: readonly FailingGate[],
  checkpoint: string | undefined,
): Prompt {
  const conflicted = conflicts.length === 0 ? "" : `## Conflicts\n\n${bulletList(conflicts, 50, 200)}`;
  const broken = failing.filter((gate) => gate.command !== "").map(gateText);
  const gates = broken.length === 0 ? "" : `## Failing gates\n\n${broken.join("\n\n")}`;
  const handedOver = checkpoint === undefined ? "" : `## Checkpoint of the previous session\n\n${checkpoint}`;
  const others = merged.length === 0 ? "- changes of the user's" : bulletList(merged.slice(-10), 10, 120);
  return compose(view, "merge", handedOver, { conflicts: conflicted, gates, merged: others });
}

/** A fresh pair of eyes: the criteria and the change, and not a word of the agent that made it. */
export function verifyPrompt(view: PhaseView, diff: string): { text: string } {
  const { phase } = view;
  const listed = criteriaOf(phase).map((criterion, index) => `${index + 1}. ${criterion}`);
  // Tasks are titles only: what they mean stands in the plan.
  const where =
    phase.criteria.length > 0 ? [] : [`\nWhat is meant is written in \`${phase.file}\`, from line ${phase.line} on.`];
  const criteria = [...listed, ...where].join("\n");
  const filled = fill(view.texts.verify, { phase_id: phase.id, criteria, diff: clipMiddle(diff, 60_000) });
  return { text: withKind(filled, "verify") };
}

/** Fills a template with the layers, within the budget. */
function compose(view: PhaseView, kind: TemplateName, checkpoint: string, values: Record<string, string>): Prompt {
  const { plan, phase, texts } = view;
  const template = texts[kind];
  const planText = `# Plan: ${plan.title}${plan.goal === "" ? "" : `\n\n${clip(plan.goal, 600)}`}`;
  const rules = [texts.rules, ...standardsNote(view.standards), ...otherTools(phase.text, view.toolName)].join("\n\n");
  const phaseText = phaseParts(view).join("\n\n");
  const layers = composeLayers({
    permanent: [fill(template, {}), planText, rules].join("\n\n"),
    phase: [phaseText, checkpoint, ...Object.values(values)].join("\n\n"),
    finished: view.finished.map(asFinished),
    pruning: view.pruning,
    budget: view.budget,
    share: view.share,
    countTokens: roughTokens,
  });
  const known = [layers.metadata, layers.transient].filter((part) => part !== "").join("\n\n");
  const finished = known === "" ? "" : `## Phases that are done\n\n${known}`;
  const filled = fill(template, {
    ...values,
    phase_id: phase.id,
    plan: planText,
    finished,
    rules,
    checkpoint,
    phase: phaseText,
  });
  const text = withKind(filled, kind);
  return { text, layers: layers.sizes, warnings: layers.warnings };
}

function taskList({ phase, tasksDone }: Pick<PhaseView, "phase" | "tasksDone">): string {
  const done = new Set(tasksDone);
  const tasks = phase.tasks.map((task) => `- [${done.has(task.id) ? "x" : " "}] ${task.id} ${task.title}`);
  return `## State of the tasks\n\n${tasks.join("\n")}`;
}

const standardsNote = (files: readonly string[]): string[] =>
  files.length === 0
    ? []
    : [`The project's standards are in ${files.join(", ")}: read them before you change anything.`];

function phaseParts({ phase, tasksDone, stashes, wave }: PhaseView): string[] {
  const marked = markedText(phase, new Set(tasksDone));
  return [
    `# Phase ${phase.id}: ${phase.title}`,
    ...(wave === "" ? [] : [wave]),
    ...(stashes.length === 0 ? [] : [stashNote(stashes)]),
    ...besideText(phase),
    // Once: as the user wrote them, where they did; else beside what they wrote.
    ...(marked === undefined ? [taskList({ phase, tasksDone })] : []),
    marked === undefined || phase.tasks.length === 0
      ? `## The phase as the user wrote it (${phase.file})\n\n${phase.text.trim()}`
      : `## The phase as the user wrote it (${phase.file}), its tasks as they stand now\n\n${marked}`,
  ];
}

/** What belongs to the phase and does not stand in its own text: criteria of other files, and files to read. */
function besideText({ text, criteria, readFirst }: Phase): string[] {
  const unsaid = criteria.filter((criterion) => !text.includes(criterion.slice(0, 40)));
  const files = readFirst.filter((file) => !text.includes(file));
  return [
    ...(files.length === 0 ? [] : [`Read what you need of these before you begin: ${files.join(", ")}.`]),
    ...(unsaid.length === 0 ? [] : [`## What it must fulfil\n\n${bulletList(unsaid, MOST_CRITERIA, 400)}`]),
  ];
}

const MOST_CRITERIA = 40;

const asFinished = (phase: PhaseMetadata): FinishedPhase => ({
  id: phase.id,
  metadata: renderMetadata(phase),
  line: clip(`Phase ${phase.id}: ${phase.title}. Its full text: ${phase.file}`, 200),
  answer: phase.answer,
});

/** At most 50 words of summary, a few decisions and files, and where the rest is: under 250 tokens. */
function renderMetadata({ id, title, summary, decisions, files, gates, file }: PhaseMetadata): string {
  const words = clip(summary.split(/\s+/).slice(0, 50).join(" "), 300);
  const lines = [`Phase ${id}: ${clip(title, 80)}. ${words}`];
  if (decisions.length > 0) lines.push(bulletList(decisions.slice(-3), 3, 80));
  if (files.length > 0) lines.push(clip(`Files: ${files.slice(0, 5).join(", ")}${more(files, 5)}`, 140));
  if (gates.length > 0) lines.push(clip(`Gates passed: ${gates.join(", ")}`, 80));
  lines.push(`Its full text: ${file}`);
  return lines.join("\n");
}

const more = (items: readonly string[], shown: number): string =>
  items.length > shown ? ` and ${items.length - shown} more` : "";

/** Into a conversation that was cut off: what it was doing last may be half done. */
export function resumedPrompt(view: PhaseView, why: ContinuationReason, unreported: string): string {
  const reasons: Partial<Record<ContinuationReason, string>> = {
    limit: "A usage limit was reached and this conversation waited for its end; it goes on now.",
  };
  const said = reasons[why] ?? "Segno was interrupted and this conversation with it; it goes on now.";
  return withKind(
    fill(view.texts.resume, { phase_id: view.phase.id, why: said, tasks: taskList(view), unreported }),
    "resume",
  );
}

/** Plans written for other tools name their commands: what they mean here. */
const OTHER_TOOLS: [RegExp, string, { tool: ToolName } | string][] = [
  [/\bdebussy done\b/, "`debussy done`", { tool: "phase_result" }],
  [/\/debussy-progress\b/, "`/debussy-progress`", { tool: "progress" }],
  [/\/autopilot\b/, "`/autopilot`", "nothing to do: Segno itself runs the phases"],
];

function otherTools(text: string, toolName: PhaseView["toolName"]): string[] {
  const named = OTHER_TOOLS.filter(([form]) => form.test(text));
  if (named.length === 0) return [];
  const lines = named.map(
    ([, theirs, ours]) => `- ${theirs}: ${typeof ours === "string" ? ours : `call \`${toolName(ours.tool)}\``}`,
  );
  return [`The plan names commands of another tool. Here they mean:\n${lines.join("\n")}`];
}

/** What a prompt asks for, in a line that no wording changes: for whoever stands in for a model. */
export const withKind = (text: string, kind: TemplateName): string => `${text}\n\n<!-- segno: ${kind} -->`;
