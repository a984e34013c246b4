/**
 * Kiro's and cc-sdd's `tasks.md`: a list of numbered parents with sub-tasks. Every parent is a phase, its sub-tasks are its
 * tasks; what stands beside the file (`requirements.md`, `design.md`, steering) is read for its criteria, or named.
 */
import type { Nodes, RootContent } from "mdast";
import { type Box, boxesIn, isTicked } from "../boxes.js";
import { contentOf, type Document, goalOf, titleOf } from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrderIfCircular } from "../draft.js";
import { besideOf, type Form, folderOf } from "../form.js";
import { testGate } from "../gates.js";
import { codesOf, descendantsOf, endOf, startOf } from "../markdown.js";
import type { Diagnostic, Gate, PlanOptions, ReadPlanFile, Task } from "../model.js";
import { withOwnIds } from "../own-ids.js";
import { isPath } from "./phase-file.js";
import { requirementsIn } from "./requirements.js";

export const KIRO: Form = {
  name: "kiro",
  looksFor: "Kiro's or cc-sdd's tasks.md: `- [ ] 1. Parent` with `  - [ ] 1.1 Sub-task` below it",
  fits: (document) => {
    const parents = parentsIn(document);
    const isPlaced = /(^|\/)\.kiro\/specs\/[^/]+\/tasks\.md$/.test(document.file);
    const isTitled = /^implementation (plan|tasks)\b/i.test(titleOf(document));
    return (isPlaced || isTitled) && parents.length > 0;
  },
  read: readKiro,
  // Whether optional ones are done shows in the plan's own tasks.
  sites: (document, plan, id) => {
    const known = new Set(plan.phases.find((phase) => phase.id === id)?.tasks.map((task) => task.id));
    const { drafts } = readKiro(document, () => undefined, { optionalTasks: true });
    return drafts
      .filter(({ phase }) => phase.id === id)
      .map(({ sites }) => ({
        ...sites,
        groups: sites.groups?.map(({ at, tasks }) => ({ at, tasks: tasks.filter((task) => known.has(task)) })) ?? [],
      }));
  },
};

const PARENT = /^(\d+)[.:)]?\s+(.+)$/;
const SUB_TASK = /^\**(\d+(?:\.\d+)+)[.:)]?\**\s+(.+)$/;
const CHECKPOINT = /^(?:final )?checkpoint\b/i;
/** `_Requirements: 1.1, 2.3_` and the like, in the bullets below a task. */
const NOTE = /_(Requirements|Depends|Boundary)\s*:\s*([^_\n]+)_/gi;

interface Parent {
  box: Box;
  id: string;
  title: string;
  /** `(P)`: beside its neighbours. */
  parallel: boolean;
  notes: Record<"requirements" | "depends" | "boundary", string[]>;
}

/** Numbered boxes that stand in no other, of the whole document. */
function parentsIn({ root, source }: Document): Parent[] {
  return boxesIn(root.children as Nodes[], source).flatMap((box): Parent[] => {
    const [, id, rest] = PARENT.exec(box.text) ?? [];
    if (id === undefined || rest === undefined) return [];
    const text = source.slice(startOf(box.item), endOf(box.item));
    return [{ box, id, title: withoutP(rest), parallel: hasP(rest), notes: notesIn(text) }];
  });
}

const hasP = (text: string): boolean => /\(P\)/.test(text);
const withoutP = (text: string): string => text.replace(/\s*\(P\)\s*/g, " ").trim();

function notesIn(text: string): Parent["notes"] {
  const notes: Parent["notes"] = { requirements: [], depends: [], boundary: [] };
  for (const [, name = "", value = ""] of text.matchAll(NOTE))
    notes[name.toLowerCase() as keyof Parent["notes"]].push(...value.split(",").map((part) => part.trim()));
  return notes;
}

function readKiro(document: Document, read: ReadPlanFile, options: PlanOptions): FormRead {
  const diagnostics: Diagnostic[] = [];
  const parents = parentsIn(document);
  const requirements = requirementsIn(besideOf(document, read, "requirements.md"));
  const beside = filesBeside(document, read);
  const drafts: (Draft & { parent: Parent })[] = [];
  for (const parent of parents) {
    const before = drafts.at(-1);
    if (CHECKPOINT.test(parent.title) && before !== undefined && parent.box.inner.length === 0)
      judgeWith(before, parent, document.file, options, diagnostics);
    else drafts.push(draftOf(document, parent, { requirements, beside, options, diagnostics }));
  }
  connect(document, drafts, diagnostics);
  const title = titleOf(document);
  const name = /\.kiro\/specs\/([^/]+)\//.exec(document.file)?.[1];
  const named = /^implementation (plan|tasks)$/i.test(title) && name !== undefined ? `${name}: ${title}` : title;
  return {
    title: named,
    goal: goalOf(document),
    drafts: drafts.map(({ phase, sites }) => ({ phase, sites })),
    diagnostics,
  };
}

/** What whoever works on it reads for themselves. */
function filesBeside(document: Document, read: ReadPlanFile): string[] {
  const folder = folderOf(document.file);
  const own = ["requirements.md", "design.md"].map((name) => folder + name);
  const steering = read.list?.(".kiro/steering").filter((file) => file.endsWith(".md")) ?? [];
  return [...own.filter((file) => typeof read(file) === "string"), ...steering];
}

interface Around {
  requirements: ReadonlyMap<string, string>;
  beside: readonly string[];
  options: PlanOptions;
  diagnostics: Diagnostic[];
}

function draftOf(document: Document, parent: Parent, around: Around): Draft & { parent: Parent } {
  const { file, source } = document;
  const { box, id, title, notes } = parent;
  const text = source.slice(startOf(box.item), endOf(box.item));
  const all = withOwnIds(box.inner.map((inner) => ({ inner, task: taskOf(inner, file) })));
  const isDone = ({ task }: { task: Task }): boolean => task.optional !== true || around.options.optionalTasks === true;
  const own = all.filter(isDone);
  const [alone] = [{ inner: box, task: { id, title, ticked: isTicked(box), file, line: box.line } }];
  const tasks = all.length === 0 ? [alone] : own;
  const unknown = notes.requirements.filter((name) => !around.requirements.has(name));
  if (unknown.length > 0 && around.requirements.size > 0)
    around.diagnostics.push({
      severity: "warning",
      file,
      line: box.line,
      message: `Task ${id} names requirements that requirements.md does not have: ${unknown.join(", ")}.`,
      fix: "Correct the numbers; they are requirement and criterion, like 1.2.",
    });
  const leftOut = all.filter((each) => !isDone(each)).map(({ task }) => task);
  const phase = {
    ...emptyPhase(file, box.line, id, title, text),
    tasks: tasks.map(({ task }) => task),
    mark: isTicked(box) ? ("done" as const) : undefined,
    files: notes.boundary.filter(isPath),
    criteria: notes.requirements.flatMap((name) => {
      const criterion = around.requirements.get(name);
      return criterion === undefined ? [] : [`${name} ${criterion}`];
    }),
    readFirst: [...around.beside],
    ...(leftOut.length === 0 ? {} : { leftOut }),
  };
  const boxes = new Map(tasks.map(({ inner, task }) => [task.id, inner.at]));
  return { parent, phase, sites: { status: { type: "box", at: box.at }, boxes } };
}

function taskOf(box: Box, file: string): Task {
  const [, id, title] = SUB_TASK.exec(box.text) ?? [];
  const named = id === undefined ? { id: `l${box.line}`, title: box.text || "(no text)" } : { id, title: title ?? "" };
  return {
    ...named,
    title: withoutP(named.title),
    ticked: isTicked(box),
    ...(box.optional ? { optional: true as const } : {}),
    file,
    line: box.line,
  };
}

/** "Checkpoint" means that all tests pass here: a gate of what comes before it, whose box is ticked with it. */
function judgeWith(
  before: Draft,
  { box, title }: Parent,
  file: string,
  { testCommand, projectGates }: PlanOptions,
  diagnostics: Diagnostic[],
): void {
  const { phase } = before;
  const tasks = phase.tasks.map(({ id }) => id);
  before.sites = { ...before.sites, groups: [...(before.sites.groups ?? []), { at: box.at, tasks }] };
  const command =
    testCommand ??
    projectGates?.tests ??
    codesOf(box.item.children).find((code) => /^\S+\s/.test(code) && /\b(test|check|build)\b/.test(code));
  if (command !== undefined) {
    const gate: Gate = { ...testGate(command, file, box.line), name: title.slice(0, 80) };
    phase.gates.push({ ...gate, id: `g${phase.gates.length + 1}` });
    return;
  }
  diagnostics.push({
    severity: "warning",
    file,
    line: box.line,
    message: `"${title}" means that all tests pass here, and nothing says how they are run.`,
    fix: "Set test_command: segno config set test_command 'npm test'",
  });
}

/** Waves, `_Depends:_` and `(P)`, as far as they are there; else the order in which they are written. */
function connect(document: Document, drafts: readonly (Draft & { parent: Parent })[], diagnostics: Diagnostic[]): void {
  const ids = new Set(drafts.map(({ phase }) => phase.id));
  const parentOf = (task: string): string | undefined => {
    const id = task.split(".")[0] ?? "";
    return ids.has(id) ? id : undefined;
  };
  const waves = wavesIn(document);
  if (waves !== undefined) fromWaves(drafts, waves, parentOf);
  else
    for (const [n, { phase, parent }] of drafts.entries()) {
      const earlier = drafts.slice(0, n);
      const last = earlier.findLastIndex((draft) => !draft.parent.parallel);
      const beside = earlier.slice(last + 1).map((draft) => draft.phase.id);
      const before = earlier[last]?.phase.id;
      phase.dependsOn = parent.parallel || beside.length === 0 ? (before === undefined ? [] : [before]) : beside;
    }
  for (const { phase, parent } of drafts) {
    const named = parent.notes.depends.flatMap((task) => parentOf(task) ?? []).filter((id) => id !== phase.id);
    phase.dependsOn = [...new Set([...phase.dependsOn, ...named])];
  }
  const fix = "Move sub-tasks, so that no two tasks wait for each other.";
  diagnostics.push(...inOrderIfCircular(drafts, document.file, fix));
}

function fromWaves(
  drafts: readonly Draft[],
  waves: readonly (readonly string[])[],
  parentOf: (task: string) => string | undefined,
): void {
  for (const { phase } of drafts) {
    const needs = new Set<string>();
    for (const [n, wave] of waves.entries()) {
      if (!wave.some((task) => parentOf(task) === phase.id)) continue;
      for (const task of waves[n - 1] ?? []) {
        const parent = parentOf(task);
        if (parent !== undefined && parent !== phase.id) needs.add(parent);
      }
    }
    phase.dependsOn = [...needs];
  }
}

/** `## Task Dependency Graph` with JSON: waves of sub-tasks. */
function wavesIn(document: Document): string[][] | undefined {
  const section = document.sections.find(({ title }) => /dependency graph/i.test(title));
  const nodes: RootContent[] = section === undefined ? [] : contentOf(document, section);
  for (const node of descendantsOf(nodes)) {
    if (node.type !== "code") continue;
    try {
      const { waves } = JSON.parse(node.value) as { waves?: { tasks?: unknown[] }[] };
      if (Array.isArray(waves)) return waves.map(({ tasks = [] }) => tasks.map(String));
    } catch {
      // A picture, or something else.
    }
  }
  return undefined;
}
