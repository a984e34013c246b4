/**
 * OpenSpec's change: `openspec/changes/<id>/tasks.md`, groups in order. What the change must do stands beside it, as scenarios
 * in `specs/`; they judge the last group. Archiving the change stays the user's step.
 */
import { readCheckboxes } from "../checkboxes.js";
import { type Document, ownContentOf, readDocument, type Section, titleOf } from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrder } from "../draft.js";
import { besideOf, type Form, folderOf } from "../form.js";
import { tagSite, untagged } from "../mark-sites.js";
import { endOf, startOf, textOf } from "../markdown.js";
import type { ReadPlanFile } from "../model.js";
import { withOwnIds } from "../own-ids.js";

const PLACE = /(^|\/)openspec\/changes\/([^/]+)\/tasks\.md$/;
const GROUP = /^(\d+)[.)]\s+(.+)$/;

export const OPENSPEC: Form = {
  name: "openspec",
  looksFor: "OpenSpec's openspec/changes/<id>/tasks.md: `## 1. Group` with `- [ ] 1.1 …`",
  fits: (document) => PLACE.test(document.file) && groupsIn(document).length > 0,
  read: readOpenSpec,
};

const groupsIn = (document: Document): Section[] =>
  document.sections.filter((section) => readCheckboxes(document, ownContentOf(document, section), "").length > 0);

function readOpenSpec(document: Document, read: ReadPlanFile): FormRead {
  const { file } = document;
  const change = PLACE.exec(file)?.[2] ?? "";
  const beside = filesBeside(document, read);
  const drafts = groupsIn(document).map((section, n) => groupOf(document, section, n, beside));
  inOrder(drafts);
  const last = drafts.at(-1);
  if (last !== undefined) last.phase.criteria = scenariosIn(document, read);
  const proposal = besideOf(document, read, "proposal.md");
  return {
    title: proposal === undefined ? change : titleOfProposal(proposal, change),
    goal: proposal === undefined ? "" : whyIn(proposal),
    drafts,
    diagnostics: [],
    ...(change === ""
      ? {}
      : { afterwards: `Archive the change when you are content with it: openspec archive ${change}` }),
  };
}

function filesBeside({ file }: Document, read: ReadPlanFile): string[] {
  const folder = folderOf(file);
  const specs = read.list?.(`${folder}specs`).filter((path) => path.endsWith(".md")) ?? [];
  return [...["proposal.md", "design.md"].map((name) => folder + name), ...specs].filter(
    (path) => typeof read(path) === "string",
  );
}

function groupOf(document: Document, section: Section, n: number, beside: readonly string[]): Draft {
  const { file, source } = document;
  const content = ownContentOf(document, section);
  const { site, mark } = tagSite(source, section.heading, true);
  const [, number, name] = GROUP.exec(untagged(section.title)) ?? [];
  const id = number ?? String(n + 1);
  const boxes = withOwnIds(
    readCheckboxes(document, content, id).map(({ task, at }) => {
      const [, own, title] = /^(\d+(?:\.\d+)+)\s+(.+)$/.exec(task.title) ?? [];
      return { at, task: own === undefined || title === undefined ? task : { ...task, id: own, title } };
    }),
  );
  const last = content.at(-1);
  const text = source.slice(startOf(section.heading), last === undefined ? endOf(section.heading) : endOf(last));
  const allTicked = boxes.every(({ task }) => task.ticked);
  return {
    phase: {
      ...emptyPhase(file, section.line, id, name?.trim() ?? section.title, text),
      tasks: boxes.map(({ task }) => task),
      mark: mark ?? (allTicked ? "done" : undefined),
      readFirst: [...beside],
    },
    sites: { status: site, boxes: new Map(boxes.map(({ task, at }) => [task.id, at])) },
  };
}

/** `#### Scenario: name` with its WHEN and THEN, of all the change's specs. */
function scenariosIn({ file }: Document, read: ReadPlanFile): string[] {
  const specs = read.list?.(`${folderOf(file)}specs`).filter((path) => path.endsWith("spec.md")) ?? [];
  return specs.flatMap((path) => {
    const source = read(path);
    if (typeof source !== "string") return [];
    const document = readDocument(path, source);
    let kept = true;
    return document.sections.flatMap((section) => {
      const [, delta] = /^(added|modified|removed|renamed)\s+requirements\b/i.exec(section.title) ?? [];
      // What is to be gone is nothing that must hold.
      if (delta !== undefined) kept = delta.toLowerCase() !== "removed";
      if (!kept) return [];
      const [, name] = /^scenario\s*:\s*(.+)$/i.exec(section.title) ?? [];
      if (name === undefined) return [];
      const said = ownContentOf(document, section).map(textLines).join(" ").replaceAll(/\s+/g, " ").trim();
      return [`${name}: ${said}`.slice(0, 600)];
    });
  });
}

const textLines = (node: Parameters<typeof textOf>[0]): string =>
  "children" in node && node.type === "list" ? node.children.map((item) => textOf(item)).join(" ") : textOf(node);

const titleOfProposal = (source: string, change: string): string => {
  const title = titleOf(readDocument("proposal.md", source)).replace(/^(change|proposal)\s*:\s*/i, "");
  return title === "" || title === "proposal.md" || /^(why|change proposal|proposal)$/i.test(title) ? change : title;
};

function whyIn(source: string): string {
  const document = readDocument("proposal.md", source);
  const section = document.sections.find(({ title }) => /^why\b/i.test(title));
  const paragraph =
    section === undefined ? undefined : ownContentOf(document, section).find((node) => node.type === "paragraph");
  return paragraph === undefined ? "" : textOf(paragraph).trim();
}
