/**
 * spec-kit's `tasks.md`: set-up, foundation, a phase per user story, polish. Stories wait for the foundation only, unless the
 * plan's own section on dependencies, or a task, says otherwise; what the stories must fulfil stands in `spec.md`.
 */
import { readCheckboxes } from "../checkboxes.js";
import { contentOf, type Document, goalOf, readDocument, type Section, sourceOf, titleOf } from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrderIfCircular } from "../draft.js";
import { besideOf, type Form, folderOf } from "../form.js";
import { tagSite, untagged } from "../mark-sites.js";
import { itemParagraph, itemsOf, textOf } from "../markdown.js";
import type { Diagnostic, ReadPlanFile, Task } from "../model.js";
import { withOwnIds } from "../own-ids.js";
import { isPath } from "./phase-file.js";

const PHASE = /^phase\s+([\w.]+)\s*[:—–-]\s*(.+)$/i;
/** `T001 [P] [US1] Create src/a.ts`. */
const TASK = /^(T\d+[a-z]?)\b[:.]?\s*((?:\[[^\]]+\]\s*)*)(.*)$/;
const STORY = /\bUS\s?(\d+)\b|\buser story\s+(\d+)\b/i;
const CONSTITUTION = ".specify/memory/constitution.md";

export const SPEC_KIT: Form = {
  name: "spec-kit",
  looksFor: "spec-kit's tasks.md: `## Phase 1: Title` with `- [ ] T001 [P] [US1] …`",
  fits: (document) => {
    const sections = document.sections.filter(({ title }) => PHASE.test(title));
    const boxes = sections.flatMap((section) => readCheckboxes(document, contentOf(document, section), ""));
    // A box or two without a number (`TXXX` that was never filled in) do not make it another form.
    return boxes.filter(({ task }) => TASK.test(nameOf(task))).length > boxes.length / 2;
  },
  read: readSpecKit,
};

/** As it is written, with the id that was read out of it. */
const nameOf = ({ id, title }: Task): string => (/^T\d/.test(id) ? `${id} ${title}` : title);

interface Story extends Draft {
  kind: "setup" | "foundation" | "story" | "polish" | "other";
  story: string | undefined;
  /** Tasks of other phases that its own wait for. */
  needs: string[];
}

function readSpecKit(document: Document, read: ReadPlanFile): FormRead {
  const diagnostics: Diagnostic[] = [];
  const scenarios = scenariosIn(besideOf(document, read, "spec.md"));
  const beside = filesBeside(document, read);
  const sections = document.sections.filter(({ title }) => PHASE.test(title));
  const drafts = sections.map((section) => storyOf(document, section, scenarios, beside));
  connect(document, drafts, diagnostics);
  const title = titleOf(document).replace(/^tasks:\s*/i, "");
  return { title, goal: goalOf(document), drafts: drafts.map(({ phase, sites }) => ({ phase, sites })), diagnostics };
}

function filesBeside({ file }: Document, read: ReadPlanFile): string[] {
  const folder = folderOf(file);
  const own = ["plan.md", "spec.md", "data-model.md", "research.md", "quickstart.md"].map((name) => folder + name);
  const contracts = read.list?.(`${folder}contracts`) ?? [];
  return [CONSTITUTION, ...own, ...contracts].filter((path) => typeof read(path) === "string");
}

function storyOf(
  document: Document,
  section: Section,
  scenarios: ReadonlyMap<string, string[]>,
  beside: readonly string[],
): Story {
  const { file, source } = document;
  const [, id = "", rest = ""] = PHASE.exec(section.title) ?? [];
  const content = contentOf(document, section);
  const boxes = withOwnIds(
    readCheckboxes(document, content, id).map(({ task, at }) => {
      const [, own = task.id, , text = task.title] = TASK.exec(nameOf(task)) ?? [];
      return { at, task: { ...task, id: own, title: text.trim() || task.title }, line: nameOf(task) };
    }),
  );
  const tags = boxes.flatMap(({ line }) => STORY.exec(line)?.[1] ?? []);
  const story =
    STORY.exec(section.title)
      ?.slice(1)
      .find((found) => found !== undefined) ?? tags[0];
  const { site, mark } = tagSite(source, section.heading, true);
  const allTicked = boxes.length > 0 && boxes.every(({ task }) => task.ticked);
  const phase = {
    ...emptyPhase(file, section.line, id, untagged(rest), sourceOf(document, section)),
    tasks: boxes.map(({ task }) => task),
    mark: mark ?? (allTicked ? ("done" as const) : undefined),
    files: [...new Set(boxes.flatMap(({ task }) => pathsIn(task.title)))],
    criteria: [...(story === undefined ? [] : (scenarios.get(story) ?? [])), ...checkpointsIn(content)],
    readFirst: [...beside],
  };
  return {
    phase,
    sites: { status: site, boxes: new Map(boxes.map(({ task, at }) => [task.id, at])) },
    kind: kindOf(rest, story),
    story,
    needs: boxes.flatMap(({ task }) =>
      [...task.title.matchAll(/depends on ([T\d, ]+\d[a-z]?)/gi)].flatMap(
        ([, list]) => list?.match(/T\d+[a-z]?/g) ?? [],
      ),
    ),
  };
}

function kindOf(title: string, story: string | undefined): Story["kind"] {
  if (/^set-?up\b/i.test(title)) return "setup";
  if (/^foundation/i.test(title) || /blocking prerequisites/i.test(title)) return "foundation";
  if (/\bpolish\b|cross-cutting/i.test(title)) return "polish";
  return story === undefined ? "other" : "story";
}

/** Words of a task that are paths: other phases that name the same are not worked on at the same time. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`([^`\s]+)`|(?:^|\s)((?:[\w@.-]+\/)+[\w.-]+\.\w+)/g)]
    .flatMap(([, code, bare]) => code ?? bare ?? [])
    .filter((path) => isPath(path) && path.includes("/"));

/** `**Checkpoint**: …`, or what stands below `### US1 Checkpoint`: what must hold when the phase is done. */
const checkpointsIn = (content: ReturnType<typeof contentOf>): string[] => {
  const criteria: string[] = [];
  let below = false;
  for (const node of content) {
    if (node.type === "heading") below = /^(?:US\d+ )?checkpoint\b/i.test(textOf(node).trim());
    const text = node.type === "paragraph" ? textOf(node).trim() : "";
    const [, said] = /^(?:US\d+ )?checkpoint\s*:\s*([\s\S]+)$/i.exec(text) ?? [];
    if (said !== undefined) criteria.push(said);
    else if (below && text !== "") criteria.push(text);
    else if (below && node.type === "list")
      for (const item of itemsOf([node])) {
        const paragraph = itemParagraph(item);
        if (item.checked === null || item.checked === undefined)
          criteria.push(paragraph === undefined ? "" : textOf(paragraph));
      }
  }
  return criteria.map((text) => text.replaceAll(/\s+/g, " ").trim()).filter((text) => text !== "");
};

/** Given, when, then: by the number of the story. */
function scenariosIn(source: string | undefined): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  if (source === undefined) return found;
  const document = readDocument("spec.md", source);
  for (const section of document.sections) {
    const [, number] = /^user story\s+(\d+)\b/i.exec(section.title) ?? [];
    if (number === undefined) continue;
    const items = [
      ...itemsOf(contentOf(document, section).filter((node) => node.type === "list" && node.ordered === true)),
    ];
    const texts = items.flatMap((item) => {
      const paragraph = itemParagraph(item);
      const text = paragraph === undefined ? "" : textOf(paragraph).replaceAll(/\s+/g, " ").trim();
      return /\bgiven\b|\bwhen\b|\bthen\b/i.test(text) ? [text] : [];
    });
    found.set(number, [...(found.get(number) ?? []), ...texts]);
  }
  return found;
}

function connect(document: Document, drafts: readonly Story[], diagnostics: Diagnostic[]): void {
  const idOf = (draft: Story | undefined): string[] => (draft === undefined ? [] : [draft.phase.id]);
  const foundation =
    drafts.findLast(({ kind }) => kind === "foundation") ?? drafts.findLast(({ kind }) => kind === "setup");
  const phaseOfTask = new Map(drafts.flatMap(({ phase }) => phase.tasks.map((task) => [task.id, phase.id])));
  for (const [n, draft] of drafts.entries()) {
    const before = drafts[n - 1];
    const needs =
      draft.kind === "polish"
        ? drafts.slice(0, n).map(({ phase }) => phase.id)
        : draft.kind === "story"
          ? idOf(foundation ?? (before?.kind === "story" ? undefined : before))
          : idOf(before);
    const named = draft.needs.flatMap((task) => phaseOfTask.get(task) ?? []);
    draft.phase.dependsOn = [...new Set([...needs, ...named])].filter((id) => id !== draft.phase.id);
  }
  const named = (text: string): Story | undefined =>
    drafts.find(({ story, phase }) => text === `US${story}` || text === `phase ${phase.id}`);
  for (const [draft, before] of saidDependencies(document).map((pair) => pair.map(named)))
    if (draft !== undefined && before !== undefined && draft !== before)
      draft.phase.dependsOn = [...new Set([...draft.phase.dependsOn, before.phase.id])];
  const fix = "Correct the section on dependencies, or the tasks that name others.";
  diagnostics.push(...inOrderIfCircular(drafts, document.file, fix));
}

/** A story or a phase, as it is called there. */
const NAMED = /\bUS\s?(\d+)\b|\buser story\s+(\d+)\b|\bphase\s+(\d[\w.]*)\b/gi;
const calledIn = (text: string): string[] =>
  [...text.matchAll(NAMED)].map(([, a, b, phase]) => (phase === undefined ? `US${a ?? b}` : `phase ${phase}`));

/** `- **User Story 3 (P3)**: … depends on US1 …` under "Dependencies & Execution Order". */
function saidDependencies(document: Document): [string, string][] {
  const section = document.sections.find(({ title }) => /^dependencies\b/i.test(title));
  if (section === undefined) return [];
  return [...itemsOf(contentOf(document, section))].flatMap((item): [string, string][] => {
    const paragraph = itemParagraph(item);
    const text = paragraph === undefined ? "" : textOf(paragraph);
    const [who = "", ...what] = text.split(/\b(?:depends on|requires|needs|after)\b/i);
    const called = calledIn(who);
    const subject = called.find((name) => name.startsWith("US")) ?? called[0];
    // What may be, or should, is no dependency.
    const said = what.map((clause) => clause.split(/[.;]|\s[-–—]\s|\b(?:but|may|should|can)\b/i)[0] ?? "").join(" ");
    if (subject === undefined || /\bno dependenc|\bindependent/i.test(said)) return [];
    return calledIn(said)
      .filter((other) => !called.includes(other))
      .map((other) => [subject, other]);
  });
}
