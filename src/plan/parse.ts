/** A plan file and what it links to → a `Plan`, or diagnostics that say where and what to do. */
import { boxesSeen } from "./boxes-seen.js";
import { type Document, readDocument } from "./document.js";
import { FORMS, formOf } from "./forms.js";
import { outlineOf } from "./free-text.js";
import { projectGate, testGate } from "./gates.js";
import { judgePlan } from "./judge.js";
import { UnreadableMarkdown } from "./markdown.js";
import type { Outline, ParsedPlan, Phase, PlanOptions, ReadPlanFile } from "./model.js";
import { outlineText } from "./outline-text.js";

export const SMALLEST_PLAN = `# My plan

## First step
- [ ] Create \`hello.txt\`

## Second step
- [ ] Create \`held.txt\``;

export const withoutBom = (source: string): string => (source.startsWith("\uFEFF") ? source.slice(1) : source);

export function parsePlan(file: string, read: ReadPlanFile, options: PlanOptions = {}): ParsedPlan {
  try {
    return parseReadable(file, read, options);
  } catch (error) {
    if (!(error instanceof UnreadableMarkdown)) throw error;
    return failed(
      file,
      `It cannot be read as Markdown: ${error.message}`,
      "Look for a damaged list or an unfinished comment, and save it anew.",
    );
  }
}

/** Other files of the plan, without what only says how they are encoded. */
function readableBeside(read: ReadPlanFile): ReadPlanFile {
  const beside: ReadPlanFile = (path) => {
    const text = read(path);
    return typeof text === "string" ? withoutBom(text) : text;
  };
  if (read.list !== undefined) beside.list = read.list;
  return beside;
}

function parseReadable(file: string, read: ReadPlanFile, options: PlanOptions): ParsedPlan {
  const given = read(file);
  if (given === undefined)
    return failed(
      file,
      "There is no such file.",
      "Check the path; it counts from where you are. `segno init` writes a plan to start from.",
    );
  if (typeof given !== "string")
    return failed(file, given.problem, "A plan is a Markdown file of ordinary size, in UTF-8.");
  const source = withoutBom(given);
  if (source.trim() === "")
    return failed(file, "The plan is empty.", `The smallest plan that works:\n\n${SMALLEST_PLAN}`);
  const document = readDocument(file, source);
  const readable = readableBeside(read);
  const form =
    options.format === undefined ? FORMS.find((each) => each.fits(document, readable)) : formOf(options.format);
  if (form === undefined) return unknown(document);
  const { name: format } = form;
  const { title, goal, drafts, diagnostics, afterwards } = form.read(document, readable, options);
  const phases = drafts.map((draft) => {
    const phase = withWords(withProjectGates(draft.phase, options));
    const named = phase.gates.length === 0 ? testNamedIn(phase.text) : undefined;
    if (named === undefined) return phase;
    diagnostics.push({
      severity: "warning",
      file: phase.file,
      line: phase.line,
      message: `Phase ${phase.id} has no gate: \`${named}\`, which the plan names, judges it.`,
      fix: `Write it down as a gate if that is right (- tests: all pass (command: \`${named}\`)), or another one.`,
    });
    return { ...phase, gates: [{ ...testGate(named, phase.file, phase.line), inWords: true as const }] };
  });
  if (phases.length === 0 && diagnostics.length === 0) {
    return failed(
      file,
      `As a plan of the form "${format}" it has no phase.`,
      "Leave --format away to let Segno find out what it is.",
    );
  }
  const files = [...new Set([file, ...phases.map((phase) => phase.file)])];
  const standards = document.sections.find((section) => STANDARDS.test(section.title))?.title;
  const plan = {
    format,
    title,
    goal,
    file,
    files,
    phases,
    ...(standards === undefined ? {} : { standards }),
    ...(afterwards === undefined ? {} : { afterwards }),
  };
  diagnostics.push(...judgePlan(plan, options.promptTokens));
  let boxes = 0;
  for (const path of files) {
    const text = path === file ? source : readable(path);
    if (typeof text !== "string") continue;
    const found = boxesSeen(path, text, drafts);
    boxes += found.seen;
    diagnostics.push(...found.diagnostics);
  }
  if (diagnostics.some((diagnostic) => diagnostic.severity === "error")) return { ok: false, plan, boxes, diagnostics };
  return { ok: true, plan, boxes, diagnostics };
}

/** What the configuration names verifies a phase that nothing else would. */
function withProjectGates(phase: Phase, { testCommand, projectGates = {} }: PlanOptions): Phase {
  if (phase.gates.some((gate) => gate.check.type === "command")) return phase;
  const { file, line } = phase;
  const own = testCommand === undefined ? [] : [testGate(testCommand, file, line)];
  const others = Object.entries(projectGates).map(([name, command], n) =>
    projectGate(n + 1, name, command, { file, line }),
  );
  return own.length + others.length === 0 ? phase : { ...phase, gates: [...phase.gates, ...own, ...others] };
}

const STANDARDS = /^(project |coding |code )?(standards|conventions|guidelines|ground rules)$/i;

const TEST_COMMAND =
  /`((?:npm|pnpm|yarn|bun)(?: run)? test(?: [^`\n]*)?|(?:python3? -m )?pytest(?: [^`\n]*)?|cargo test(?: [^`\n]*)?|go test [^`\n]+|make test|mvn test|gradle test|bundle exec rspec)`/;

/** The usual test command, where the plan's own words name one. */
function testNamedIn(text: string): string | undefined {
  const found = TEST_COMMAND.exec(text);
  if (found === null || /\b(not|never|without|instead of)\b[^.\n]{0,20}$/i.test(text.slice(0, found.index)))
    return undefined;
  const command = found[1]?.trim() ?? "";
  // What does more than test, or never ends, is for whoever wrote it to write down.
  return /[|&;<>$\n]|\b(watch\w*|ui|serve|dev|inspect\S*|debug|interactive)\b/i.test(command) ? undefined : command;
}

const COMPLEXITY = /^\W*\*\*Complexity:?\*\*:?\s*(\w+)/im;
const ESTIMATE =
  /^\W*\*\*(?:Estimated? (?:time|duration|effort)|Time estimate|Estimate|Duration|Effort):?\*\*:?\s*(\S.*)$/im;
/** `**Agent:** codex`, or `_Agent: codex_`; of models only what looks like one's name, since plans speak of other models, too. */
const WHO = /^[\s>*+-]*(?:\*\*|_)(Agent|Model):?(?:\*\*)?:?\s*`?([\w@./:-]+?)`?_?\s*$/gim;
const MODEL_NAME = /[\d/]|^(?:opus|sonnet|haiku|claude|gpt|gemini)\b/i;
const WORDS: [RegExp, Phase["complexity"]][] = [
  [/^(simple|low|small|trivial|easy)$/i, "simple"],
  [/^(medium|moderate|normal)$/i, "medium"],
  [/^(complex|high|large|hard)$/i, "complex"],
];

/** What a phase says of itself in any form: how complex it is, how long it may take, and who is to do it. */
function withWords(phase: Phase): Phase {
  const word = COMPLEXITY.exec(phase.text)?.[1] ?? "";
  const complexity = phase.complexity ?? WORDS.find(([form]) => form.test(word))?.[1];
  const estimate = ESTIMATE.exec(phase.text)?.[1]?.trim().slice(0, 80);
  return {
    ...phase,
    complexity,
    ...(estimate === undefined ? {} : { estimate }),
    ...whoIn(phase.text),
    ...needsIn(phase.text),
  };
}

function whoIn(text: string): Pick<Phase, "agent" | "model"> {
  const said = [...text.matchAll(WHO)].map(([, name = "", value = ""]) => ({ name: name.toLowerCase(), value }));
  const agent = said.find(({ name }) => name === "agent")?.value;
  const model = said.find(({ name, value }) => name === "model" && MODEL_NAME.test(value))?.value;
  return { ...(agent === undefined ? {} : { agent }), ...(model === undefined ? {} : { model }) };
}

/** `**Needs:** gpu, big-memory`: words, and nothing that is a sentence. */
const NEEDS = /^[\s>*+-]*(?:\*\*|_)Needs:?(?:\*\*)?:?\s*((?:`?[\w-]+`?)(?:\s*,\s*`?[\w-]+`?)*)_?\s*$/im;

function needsIn(text: string): Pick<Phase, "needs"> {
  const said = NEEDS.exec(text)?.[1];
  if (said === undefined) return {};
  return { needs: said.split(",").map((word) => word.replaceAll("`", "").trim().toLowerCase()) };
}

const FORM_LIST = FORMS.map(({ name, looksFor }) => `- ${name}: ${looksFor}`).join("\n");
const NO_PLAN = `This is no plan that Segno knows. It looked for:\n${FORM_LIST}`;

/** No form fits; headings and bullets may still be phases and tasks, if the user wants them to be. */
function unknown(document: Document): ParsedPlan {
  const { file } = document;
  const outline = outlineOf(document);
  if (outline === undefined)
    return failed(
      file,
      NO_PLAN,
      `The smallest plan that works:\n\n${SMALLEST_PLAN}\n\n\`segno init\` writes a larger one.`,
    );
  const tasks = outline.phases.reduce((sum, phase) => sum + phase.tasks.length, 0);
  const what = `It has headings and bullets, and no form that Segno knows. Taken as a plan it would be ${outline.phases.length} phases with ${tasks} tasks:`;
  return failed(
    file,
    `${what}\n${outlineText(outline)}`,
    `segno init --from ${file} writes that as a plan, and leaves this file as it is.\nThe forms that are read as they stand:\n${FORM_LIST}`,
    outline,
  );
}

const failed = (file: string, message: string, fix: string, outline?: Outline): ParsedPlan => ({
  ok: false,
  plan: undefined,
  ...(outline === undefined ? {} : { outline }),
  boxes: 0,
  diagnostics: [{ severity: "error", file, line: 1, message, fix }],
});
