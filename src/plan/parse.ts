/** A plan file and what it links to → a `Plan`, or diagnostics that say where and what to do. */
import { type Document, readDocument } from "./document.js";
import type { FormRead } from "./draft.js";
import {
  checklistSections,
  phaseSections,
  readChecklist,
  readPhases,
  readTasks,
  taskSections,
} from "./formats/headed.js";
import { readMaster, readRows } from "./formats/master.js";
import { isPhaseFile, readAlone } from "./formats/phase-file.js";
import { hasTags, readTagged } from "./formats/tagged.js";
import { testGate } from "./gates.js";
import { judgePlan } from "./judge.js";
import { UnreadableMarkdown } from "./markdown.js";
import type { FormatName, ParsedPlan, Phase, PlanOptions, ReadPlanFile } from "./model.js";

export const SMALLEST_PLAN = `# My plan

## First step
- [ ] Create \`hello.txt\`

## Second step
- [ ] Create \`held.txt\``;

/** The order in which a document is asked what it is. */
const DETECT: [FormatName, (document: Document) => boolean][] = [
  ["tagged", hasTags],
  ["master", (document) => readRows(document).length > 0],
  ["phase-file", isPhaseFile],
  ["phases", (document) => phaseSections(document).length > 0],
  ["tasks", (document) => taskSections(document).length > 0],
  ["checklist", (document) => checklistSections(document).length > 0],
];

const READ: Record<FormatName, (document: Document, read: ReadPlanFile, options: PlanOptions) => FormRead> = {
  master: readMaster,
  "phase-file": (document, _, options) => readAlone(document, options),
  phases: (document, _, options) => readPhases(document, options),
  tasks: (document, _, options) => readTasks(document, options),
  tagged: (document, _, options) => readTagged(document, options),
  checklist: (document, _, options) => readChecklist(document, options),
};

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
  const format = options.format ?? DETECT.find(([, fits]) => fits(document))?.[0];
  if (format === undefined)
    return failed(
      file,
      NO_PLAN,
      `The smallest plan that works:\n\n${SMALLEST_PLAN}\n\n\`segno init\` writes a larger one.`,
    );
  const readable: ReadPlanFile = (path) => {
    const text = read(path);
    return typeof text === "string" ? withoutBom(text) : text;
  };
  const { title, goal, drafts, diagnostics } = READ[format](document, readable, options);
  const phases = drafts.map((draft) => {
    const phase = withWords(withTestCommand(draft.phase, options.testCommand));
    const named = phase.gates.length === 0 ? testNamedIn(phase.text) : undefined;
    if (named === undefined) return phase;
    diagnostics.push({
      severity: "warning",
      file: phase.file,
      line: phase.line,
      message: `Phase ${phase.id} has no gate: \`${named}\`, which the plan names, judges it.`,
      fix: `Write it down as a gate if that is right (- tests: all pass (command: \`${named}\`)), or another one.`,
    });
    return { ...phase, gates: [testGate(named, phase.file, phase.line)] };
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
  const plan = { format, title, goal, file, files, phases, ...(standards === undefined ? {} : { standards }) };
  diagnostics.push(...judgePlan(plan, options.promptTokens));
  if (diagnostics.some((diagnostic) => diagnostic.severity === "error")) return { ok: false, plan, diagnostics };
  return { ok: true, plan, diagnostics };
}

/** The configured test command verifies a phase that nothing else would. */
function withTestCommand(phase: Phase, command: string | undefined): Phase {
  if (command === undefined || phase.gates.some((gate) => gate.check.type === "command")) return phase;
  return { ...phase, gates: [...phase.gates, testGate(command, phase.file, phase.line)] };
}

const STANDARDS = /^(project |coding |code )?(standards|conventions|guidelines|ground rules)$/i;

const TEST_COMMAND =
  /`((?:npm|pnpm|yarn|bun)(?: run)? test(?: [^`\n]*)?|(?:python3? -m )?pytest(?: [^`\n]*)?|cargo test(?: [^`\n]*)?|go test [^`\n]+|make test|mvn test|gradle test|bundle exec rspec)`/;

/** The usual test command, where the plan's own words name one. */
function testNamedIn(text: string): string | undefined {
  const found = TEST_COMMAND.exec(text);
  if (found === null || /\b(not|never|without|instead of)\b[^.\n]{0,20}$/i.test(text.slice(0, found.index)))
    return undefined;
  return found[1]?.trim();
}

const COMPLEXITY = /^\W*\*\*Complexity:?\*\*:?\s*(\w+)/im;
const ESTIMATE =
  /^\W*\*\*(?:Estimated? (?:time|duration|effort)|Time estimate|Estimate|Duration|Effort):?\*\*:?\s*(\S.*)$/im;
const WORDS: [RegExp, Phase["complexity"]][] = [
  [/^(simple|low|small|trivial|easy)$/i, "simple"],
  [/^(medium|moderate|normal)$/i, "medium"],
  [/^(complex|high|large|hard)$/i, "complex"],
];

/** What a phase says of itself in any form: how complex it is, and how long it may take. */
function withWords(phase: Phase): Phase {
  const word = COMPLEXITY.exec(phase.text)?.[1] ?? "";
  const complexity = phase.complexity ?? WORDS.find(([form]) => form.test(word))?.[1];
  const estimate = ESTIMATE.exec(phase.text)?.[1]?.trim().slice(0, 80);
  return { ...phase, complexity, ...(estimate === undefined ? {} : { estimate }) };
}

const NO_PLAN =
  "This is no plan that Segno knows. It looked for a table of phases with links to their files, a phase file (`# Phase 1: …` with `## Tasks`), headings like `### Phase 1: …` or `### Task 1: …`, `<task id=…>` tags, and headings with checkboxes under them.";

const failed = (file: string, message: string, fix: string): ParsedPlan => ({
  ok: false,
  plan: undefined,
  diagnostics: [{ severity: "error", file, line: 1, message, fix }],
});
