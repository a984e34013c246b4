/** Prompt texts with `{{placeholders}}`. A user may replace any of them by `.segno/prompts/NAME.md`. */
import { TOOL_NAMES, type ToolName } from "../tools/tools.js";

interface Template {
  text: string;
  /** What it may hold; those with ! it must. */
  placeholders: readonly string[];
}

const COMMON = ["phase_id", "plan!", "finished", "rules!", "phase!"] as const;

export const TEMPLATES = {
  work: {
    text: `You carry out phase {{phase_id}} of a plan, unattended: nobody can answer questions.

{{plan}}

{{finished}}

{{rules}}

{{phase}}`,
    placeholders: COMMON,
  },
  continue: {
    text: `You continue phase {{phase_id}} of a plan, unattended: nobody can answer questions. This is session {{n}} of at most {{most}}; the previous one ended because {{why}}. Its work is in the working tree. Do not repeat what is done; go on with the first open task.

## Checkpoint of the previous session

{{checkpoint}}

{{plan}}

{{finished}}

{{rules}}

{{phase}}`,
    placeholders: [...COMMON, "n", "most", "why", "checkpoint!"],
  },
  remediate: {
    text: `You repair phase {{phase_id}} of a plan, unattended: nobody can answer questions. Its tasks were reported as done, but Segno ran its gates and they fail. Find the cause, repair it, run the failing commands yourself, then report the result. Do not weaken a gate or a test to make it pass. With more than 3 separate issues and little room, ask for a split instead.

## Failing gates

{{gates}}

{{checkpoint}}

{{plan}}

{{finished}}

{{rules}}

{{phase}}`,
    placeholders: [...COMMON, "gates!", "checkpoint"],
  },
  merge: {
    text: `You bring phase {{phase_id}} of a plan together with what others did at the same time, unattended: nobody can answer questions. The phase passed its gates alone. In this working tree its branch is merged with theirs, and something does not fit. Keep what both sides meant: resolve every conflict mark, repair what fails, run the failing commands yourself, then call \`{{tool.phase_result}}\`. Do not take anything back that either side did on purpose. Do not commit: Segno finishes the merge.

## Merged meanwhile

{{merged}}

{{conflicts}}

{{gates}}

{{checkpoint}}

{{plan}}

{{finished}}

{{rules}}

{{phase}}`,
    placeholders: [...COMMON, "merged", "conflicts!", "gates!", "checkpoint"],
  },
  verify: {
    text: `You judge work that someone else did, unattended: nobody can answer questions. Below are the acceptance criteria of phase {{phase_id}} of a plan, and the change that is to meet them. Read the files, run what you need, change nothing. Then call \`{{tool.verdict}}\` once: for each criterion pass or fail, with file:line as evidence and one sentence, and stop. A pass without evidence counts as a fail.

## Acceptance criteria

{{criteria}}

## The change

\`\`\`diff
{{diff}}
\`\`\``,
    placeholders: ["phase_id", "criteria!", "diff!"],
  },
  resume: {
    text: `{{why}} Your last tool call may have been cut off: look at what it left before you repeat it. Go on with phase {{phase_id}}.

{{tasks}}

{{unreported}}`,
    placeholders: ["phase_id", "why", "tasks!", "unreported"],
  },
  "go-on": { text: "The run was paused and goes on now. Continue where you stopped.", placeholders: [] },
  nudge: {
    text: `You ended your turn without reporting a result. If tasks are left, do them now. When the phase is finished, or cannot go on, call \`{{tool.phase_result}}\`.`,
    placeholders: [],
  },
  checkpoint: {
    text: `Your context window is nearly full: a fresh session will go on with this phase, and all it knows is what you hand over now. Call \`{{tool.checkpoint}}\` with: the goal in two sentences; the completed work, per file what changed; the remaining tasks in order, with their ids; what must not be done again; decisions and constraints. Report finished tasks that you have not reported yet with \`{{tool.progress}}\` in the same message. If with these the whole phase is finished, call \`{{tool.phase_result}}\` instead of it. Use no other tool, and then stop. If you cannot call the tool, write the same inside <checkpoint></checkpoint>.`,
    placeholders: [],
  },
  rules: {
    text: `# How this works

- When a task is finished, call \`{{tool.progress}}\` with its id, in the same message as your next tool call. What is not reported may be done again.
- Call \`{{tool.decision}}\` for what later work must respect.
- When all tasks are done, or the phase cannot go on, call \`{{tool.phase_result}}\` once and stop. Segno reads only tool calls, git and gates, and runs the gates itself.
- Do not commit, switch branches or stash, and leave the plan's files alone: Segno does that.
- Segno hands over before your window is full. If told to stop, report partial progress and stop. If the phase is plainly too large, say so before you start: status split_request.`,
    placeholders: [],
  },
} as const satisfies Record<string, Template>;

export type TemplateName = keyof typeof TEMPLATES;
export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as TemplateName[];

export type PromptTexts = Readonly<Record<TemplateName, string>>;

export const DEFAULT_TEXTS = Object.fromEntries(
  TEMPLATE_NAMES.map((name) => [name, TEMPLATES[name].text]),
) as unknown as PromptTexts;

/** What a tool is called in a template; every template may name all of them. */
const TOOL = /\{\{\s*tool\.(\w+)\s*\}\}/g;

/** The texts with the tools called as the agent's model sees them. */
export const withToolNames = (texts: PromptTexts, toolName: (tool: ToolName) => string): PromptTexts =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text.replaceAll(TOOL, (_, tool: string) => toolName(tool as ToolName)),
    ]),
  ) as unknown as PromptTexts;

export interface TemplateProblem {
  line: number;
  column: number;
  message: string;
  fix: string;
}

/** What is wrong with a text that is to replace a template. */
export function templateProblems(name: TemplateName, text: string): TemplateProblem[] {
  const known: readonly string[] = TEMPLATES[name].placeholders;
  const own = known.map((placeholder) => placeholder.replace("!", ""));
  const names = [...own, ...TOOL_NAMES.map((tool) => `tool.${tool}`)];
  const list = own.map((placeholder) => `{{${placeholder}}}`).join(", ") || "none";
  const problems: TemplateProblem[] = [];
  const used = new Set<string>();
  for (const match of text.matchAll(/\{\{\s*([^{}]*?)\s*\}\}/g)) {
    const placeholder = match[1] ?? "";
    used.add(placeholder);
    if (names.includes(placeholder)) continue;
    const message = `There is no placeholder {{${placeholder}}} in the prompt "${name}".`;
    problems.push({ ...placeOf(text, match.index), message, fix: `Placeholders: ${list}.` });
  }
  for (const placeholder of known.filter((each) => each.endsWith("!")).map((each) => each.slice(0, -1))) {
    if (used.has(placeholder)) continue;
    const message = `The placeholder {{${placeholder}}} is missing in the prompt "${name}".`;
    problems.push({ ...placeOf(text, text.length), message, fix: `Put {{${placeholder}}} where it belongs.` });
  }
  return problems;
}

function placeOf(text: string, index: number): { line: number; column: number } {
  const before = text.slice(0, index).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The text with its placeholders filled in; what is empty leaves no gap. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text
    .replaceAll(/\{\{\s*([^{}]*?)\s*\}\}/g, (_, placeholder: string) => values[placeholder] ?? "")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
