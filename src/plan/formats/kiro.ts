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
    const optionalTasks = plan.phases.some(({ tasks }) => tasks.some(({ optional }) => optional === true));
    const { drafts } = readKiro(document, () => undefined, { optionalTasks });
    return drafts.filter(({ phase }) => phase.id === id).map(({ sites }) => sites);
  },
};

const PARENT = /^(\d+)[.:)]?\s+(.+)$/;
const SUB_TASK = /^\**(\d+(?:\.\d+)+)[.:)]?\**\s+(.+)$/;
const CHECKPOINT = /^(?:final )?checkpoint\b/i;
/** `_Requirements: 1.1, 2.3_` and the like, in the bullets below a task. */
const NOTE = /_(Requirements|Depends|Boundary)\s*:\s*([^_\n]+)_/gi;

interface Parent {
  box: Box;
  /** Its sub-tasks: below it, or behind it with its number (`1.1` behind `1.`), as cc-sdd writes them. */
  subs: Box[];
  /** From its box to the end of its last sub-task. */
  text: string;
  id: string;
  title: string;
  /** `(P)`: beside its neighbours. */
  parallel: boolean;
  notes: Record<"requirements" | "depends" | "boundary", string[]>;
}

/** Numbered boxes that stand in no other, of the whole document. */
function parentsIn({ root, source }: Document): Parent[] {
  const parents: Parent[] = [];
  for (const box of boxesIn(root.children as Nodes[], source)) {
    const [, id, rest] = PARENT.exec(box.text) ?? [];
    const last = parents.at(-1);
    if (id !== undefined && rest !== undefined) {
      const text = source.slice(startOf(box.item), endOf(box.item));
      const named = { id, title: withoutP(rest), parallel: hasP(rest) };
      parents.push({ ...named, box, subs: [...box.inner], text, notes: notesIn(text) });
    } else if (last !== undefined && SUB_TASK.exec(box.text)?.[1]?.split(".")[0] === last.id) {
      last.subs.push(box, ...box.inner);
      last.text = source.slice(startOf(last.box.item), endOf(box.item));
      last.notes = notesIn(last.text);
    }
  }
  return parents;
}

const hasP = (text: string): boolean => /\(P\)/.test(text);
const withoutP = (text: string): string => text.replace(/\s*\(P\)\s*/g, " ").trim();

function notesIn(text: string): Parent["notes"] {
  const notes: Parent["notes"] = { requirements: [], depends: [], boundary: [] };
  for (const [, name = "", value = ""] of text.matchAll(NOTE))
    notes[name.toLowerCase() as keyof Parent["notes"]].push(...value.split(",").map((part) => part.trim()));
  return notes;
}

type KiroDraft = Draft & { parent: Parent };

function readKiro(document: Document, read: ReadPlanFile, options: PlanOptions): FormRead {
  const diagnostics: Diagnostic[] = [];
  const requirements = requirementsIn(besideOf(document, read, "requirements.md"));
  const beside = filesBeside(document, read);
  const drafts: KiroDraft[] = [];
  const checkpoints: Checkpoint[] = [];
  const leftOut: Task[] = [];
  for (const parent of parentsIn(document)) {
    const before = drafts.slice(checkpoints.at(-1)?.until ?? 0);
    if (CHECKPOINT.test(parent.title) && before.length > 0 && parent.subs.length === 0)
      checkpoints.push({ parent, before, until: drafts.length });
    else if (isLeftOut(parent, options)) leftOut.push(...optionalTasks(parent, document.file));
    else drafts.push(draftOf(document, parent, { requirements, beside, options, diagnostics }));
    // What nobody does is shown with what stands before it, or after.
    const shown = drafts.at(-1);
    if (shown !== undefined && leftOut.length > 0)
      shown.phase.leftOut = [...(shown.phase.leftOut ?? []), ...leftOut.splice(0)];
  }
  connect(document, drafts, checkpoints, diagnostics);
  for (const checkpoint of checkpoints) judgeWith(checkpoint, document.file, options, diagnostics);
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

/** Optional itself, or with nothing below it that is not. */
const isLeftOut = ({ box, subs }: Parent, { optionalTasks }: PlanOptions): boolean =>
  optionalTasks !== true && (box.optional || (subs.length > 0 && subs.every(({ optional }) => optional)));

const optionalTasks = (parent: Parent, file: string): Task[] =>
  [wholeOf(parent, file), ...parent.subs.map((sub) => taskOf(sub, file))].map((task) => ({ ...task, optional: true }));

/** One task, where nothing stands below it. */
const wholeOf = ({ id, title, box }: Parent, file: string): Task => ({
  id,
  title,
  ticked: isTicked(box),
  ...(box.optional ? { optional: true as const } : {}),
  file,
  line: box.line,
});

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

function draftOf({ file }: Document, parent: Parent, around: Around): KiroDraft {
  const { box, subs, text, id, title, notes } = parent;
  const all = withOwnIds(subs.map((inner) => ({ inner, task: taskOf(inner, file) })));
  const isDone = ({ task }: { task: Task }): boolean => task.optional !== true || around.options.optionalTasks === true;
  const own = all.filter(isDone);
  const tasks = all.length === 0 ? [{ inner: box, task: wholeOf(parent, file) }] : own;
  const unknown = notes.requirements.filter((name) => !around.requirements.has(name));
  if (unknown.length > 0 && around.requirements.size > 0)
    around.diagnostics.push({
      severity: "warning",
      file,
      line: box.line,
      message: `Task ${id} names requirements that requirements.md does not have: ${unknown.join(", ")}.`,
      fix: "Correct the numbers; they are requirement and criterion, like 1.2.",
    });
  const undone = isTicked(box) ? own.filter(({ task }) => !task.ticked).map(({ task }) => task.id) : [];
  if (undone.length > 0)
    around.diagnostics.push({
      severity: "warning",
      file,
      line: box.line,
      message: `Task ${id} is ticked and ${undone.join(", ")} below it ${undone.length === 1 ? "is" : "are"} not: all of it is taken as done.`,
      fix: `Untick ${id} if there is something left to do.`,
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

/** What it judges: the phases before it, since the one before it. */
interface Checkpoint {
  parent: Parent;
  before: readonly KiroDraft[];
  /** How many phases stand before it in all. */
  until: number;
}

/**
 * "Checkpoint" means that all tests pass here: a gate of those before it for which none of the others waits. Its box is
 * ticked with the last of them.
 */
function judgeWith(
  { parent: { box, title }, before }: Checkpoint,
  file: string,
  { testCommand, projectGates }: PlanOptions,
  diagnostics: Diagnostic[],
): void {
  const last = before.at(-1);
  if (last === undefined) return;
  const tasks = last.phase.tasks.map(({ id }) => id);
  last.sites = { ...last.sites, groups: [...(last.sites.groups ?? []), { at: box.at, tasks }] };
  const command =
    testCommand ??
    projectGates?.tests ??
    codesOf(box.item.children).find((code) => /^\S+\s/.test(code) && /\b(test|check|build)\b/.test(code));
  if (command !== undefined) {
    const gate: Gate = { ...testGate(command, file, box.line), name: title.slice(0, 80) };
    const awaited = new Set(before.flatMap(({ phase }) => phase.dependsOn));
    for (const { phase } of before)
      if (!awaited.has(phase.id)) phase.gates.push({ ...gate, id: `g${phase.gates.length + 1}` });
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
function connect(
  document: Document,
  drafts: readonly KiroDraft[],
  checkpoints: readonly Checkpoint[],
  diagnostics: Diagnostic[],
): void {
  const ids = new Set(drafts.map(({ phase }) => phase.id));
  const gated = new Map(checkpoints.map(({ parent, before }) => [parent.id, before.map(({ phase }) => phase.id)]));
  const majorOf = (task: string): string => task.split(".")[0] ?? "";
  const waves = wavesIn(document)?.map((wave) => wave.map(majorOf).filter((id) => ids.has(id)));
  if (waves !== undefined) diagnostics.push(...fromWaves(drafts, waves, document.file));
  else
    for (const [n, { phase, parent }] of drafts.entries()) {
      const earlier = drafts.slice(0, n);
      const last = earlier.findLastIndex((draft) => !draft.parent.parallel);
      const beside = earlier.slice(last + 1).map((draft) => draft.phase.id);
      const before = earlier[last]?.phase.id;
      phase.dependsOn = parent.parallel || beside.length === 0 ? (before === undefined ? [] : [before]) : beside;
    }
  for (const { phase, parent } of drafts) {
    // Who waits for a checkpoint waits for what it judges.
    const named = parent.notes.depends.map(majorOf).flatMap((id) => (ids.has(id) ? [id] : (gated.get(id) ?? [])));
    phase.dependsOn = [...new Set([...phase.dependsOn, ...named])].filter((id) => id !== phase.id);
  }
  const fix = "Move sub-tasks, so that no two tasks wait for each other.";
  diagnostics.push(...inOrderIfCircular(drafts, document.file, fix));
}

/** A wave begins when all before it are done. What stands in none waits for what is written before it. */
function fromWaves(drafts: readonly KiroDraft[], waves: readonly (readonly string[])[], file: string): Diagnostic[] {
  const unnamed: Diagnostic[] = [];
  for (const [index, { phase, parent }] of drafts.entries()) {
    const last = waves.findLastIndex((wave) => wave.includes(phase.id));
    const needs = last < 0 ? drafts.slice(0, index).map((draft) => draft.phase.id) : waves.slice(0, last).flat();
    phase.dependsOn = [...new Set(needs)].filter((id) => id !== phase.id);
    if (last < 0)
      unnamed.push({
        severity: "warning",
        file,
        line: parent.box.line,
        message: `Task ${phase.id} stands in no wave of the dependency graph: it waits for all that is written before it.`,
        fix: "Add its sub-tasks to a wave.",
      });
  }
  return unnamed;
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
