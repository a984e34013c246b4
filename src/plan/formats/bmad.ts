/**
 * BMAD's stories: a story file, or the `sprint-status.yaml` of a folder of them. A story is a phase, its sub-tasks are its
 * tasks; its status moves on to `review`, in the story and in the sprint file: that it is done is the reviewer's word.
 */
import type { RootContent } from "mdast";
import { isMap, isScalar, parseDocument, type YAMLMap } from "yaml";
import { type Box, boxesIn, isTicked } from "../boxes.js";
import { contentOf, type Document, readDocument, type Section } from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrder } from "../draft.js";
import { type Form, folderOf } from "../form.js";
import { lineAt } from "../line-at.js";
import type { Sites, WordSite } from "../mark-sites.js";
import { codesOf, endOf, itemParagraph, itemsOf, lineOf, startOf, textOf } from "../markdown.js";
import type { Diagnostic, Gate, PlanMark, ReadPlanFile, Task } from "../model.js";
import { withOwnIds } from "../own-ids.js";

const TITLE = /^story\s+(\d+(?:[.-]\d+)*[a-z]?)\s*[:—–-]\s*(.+)$/i;
/** `1-2-account-page`: a story's key in the sprint file, and its file's name. */
const KEY = /^(\d+)-(\d+[a-z]?)-/;
/** `Status: ready-for-dev`, and nothing but its word: what stands behind it is the user's. */
const STATUS = /^([ \t]*\**status\**\s*:\**)([ \t]*)([\w-]*)/im;

export const BMAD: Form = {
  name: "bmad",
  looksFor: "BMAD's story (`# Story 1.2: Title` with `## Tasks / Subtasks`), or its sprint-status.yaml",
  fits: (document) => isSprint(document) || isStory(document),
  read: (document, read) => (isSprint(document) ? readSprint(document, read) : readStoryAlone(document)),
  sites: (document, plan, id) => {
    if (!isSprint(document)) {
      const story = storyOf(document);
      return story.phase.id === id ? [story.sites] : [];
    }
    // The sprint file knows stories by their key, which is the name of the story's file.
    const file = plan.phases.find((phase) => phase.id === id)?.file ?? "";
    const entry = storiesIn(document.source).find(({ key }) => file.endsWith(`/${key}.md`) || file === `${key}.md`);
    return entry === undefined ? [] : [{ status: entry.site, boxes: new Map() }];
  },
};

const isSprint = ({ file, source }: Document): boolean => /\.ya?ml$/.test(file) && storiesIn(source).length > 0;

const isStory = ({ sections }: Document): boolean =>
  TITLE.test(sections[0]?.title ?? "") && sections.some((section) => isTasks(section));

const isTasks = ({ title }: Section): boolean => /^tasks\b/i.test(title);

interface Entry {
  key: string;
  status: string;
  line: number;
  site: WordSite;
}

/** `development_status`: stories by key, beside epics and retrospectives. */
function storiesIn(source: string): Entry[] {
  const { contents, errors } = parseDocument(source, { prettyErrors: false });
  const statuses = isMap(contents) && errors.length === 0 ? contents.get("development_status", true) : undefined;
  if (!isMap(statuses)) return [];
  const lines = lineAt(source);
  return (statuses as YAMLMap).items.flatMap(({ key, value }): Entry[] => {
    const name = isScalar(key) ? String(key.value) : "";
    if (!KEY.test(name) || !isScalar(value) || value.range === undefined || value.range === null) return [];
    const [start, end] = value.range;
    const status = String(value.value ?? "");
    const site: WordSite = {
      type: "word",
      start,
      end,
      done: start === end ? " review" : "review",
      says: markOf(status),
    };
    return [{ key: name, status, line: lines(start), site }];
  });
}

/** Whatever comes after the work: nothing of it is left for an agent. */
const markOf = (status: string): PlanMark | undefined =>
  /^(done|review|ready[- ]for[- ]review|completed?)\b/i.test(status.trim()) ? "done" : undefined;

function readSprint(document: Document, read: ReadPlanFile): FormRead {
  const { file, source } = document;
  const folder = storiesFolder(document, read);
  const diagnostics: Diagnostic[] = [];
  const drafts = storiesIn(source).flatMap(({ key, status, line }): Draft[] => {
    const path = `${folder}${key}.md`;
    const text = read(path);
    if (typeof text !== "string") {
      if (markOf(status) === undefined)
        diagnostics.push({
          severity: "warning",
          file,
          line,
          message: `The story ${key} (${status}) has no file ${path}: it is left out.`,
          fix: "Write it first (BMAD's create-story), or take it out of the sprint.",
        });
      return [];
    }
    const story = storyOf(readDocument(path, text));
    const [, epic, number] = KEY.exec(key) ?? [];
    const { phase } = story;
    return [{ ...story, phase: { ...phase, id: `${epic}.${number}`, mark: phase.mark ?? markOf(status) } }];
  });
  inOrder(drafts);
  if (drafts.length === 0)
    diagnostics.push({
      severity: "error",
      file,
      line: 1,
      message: `None of its stories has a file in ${folder || "its folder"}.`,
      fix: "Write the stories first (BMAD's create-story), or name a story's file.",
    });
  const project = /^project\s*:\s*["']?([^"'\r\n]+)/im.exec(source)?.[1]?.trim();
  return { title: project === undefined ? "Sprint" : `${project}: sprint`, goal: "", drafts, diagnostics };
}

/** Beside the sprint file, or where it says, if one of them is there. */
function storiesFolder({ file, source }: Document, read: ReadPlanFile): string {
  const said = /^story_location\s*:\s*["']?([^"'\r\n#]+)/im.exec(source)?.[1]?.trim();
  const own = folderOf(file);
  if (said === undefined || said === "" || said.includes("{")) return own;
  const folder = `${said.replace(/^\.\//, "").replace(/\/+$/, "")}/`;
  return storiesIn(source).some(({ key }) => typeof read(`${folder}${key}.md`) === "string") ? folder : own;
}

function readStoryAlone(document: Document): FormRead {
  const { phase, sites } = storyOf(document);
  const title = document.sections[0]?.title ?? document.file;
  return { title, goal: wordsUnder(document, /^story$/i), drafts: [{ phase, sites }], diagnostics: [] };
}

function storyOf(document: Document): Draft {
  const { file, source, sections } = document;
  const [first] = sections;
  const [, number, name] = TITLE.exec(first?.title ?? "") ?? [];
  const [, epic, story] = KEY.exec(file.slice(file.lastIndexOf("/") + 1)) ?? [];
  const id = epic === undefined ? (number ?? "1").replaceAll("-", ".") : `${epic}.${story}`;
  const own = tasksIn(document);
  const { gates, boxes: judged, criteria } = gatesIn(document);
  const { status, word } = statusOf(document);
  const ids = own.leaves.map(({ task }) => task.id);
  const sites: Sites = {
    status,
    boxes: new Map(own.leaves.map(({ task, box }) => [task.id, box.at])),
    // What a gate stands for is ticked with the story: it passed.
    groups: [...own.parents, ...judged.map((place) => ({ at: place, tasks: ids }))],
  };
  const phase = {
    ...emptyPhase(file, first?.line ?? 1, id, name?.trim() ?? first?.title ?? file, source),
    tasks: own.leaves.map(({ task }) => task),
    gates,
    mark: markOf(word),
    criteria: [...criteriaIn(document, own.parts), ...criteria],
  };
  return { phase, sites };
}

const PLACES: ReadonlySet<string> = new Set(["paragraph", "list", "heading"]);

/** Beside the title and before anything else, or under a heading of its own. */
function statusOf({ root, source, sections }: Document): { status: WordSite | undefined; word: string } {
  // A title that stands there twice is one.
  const deeper = sections.findIndex(({ heading }) => heading.depth > 1);
  const last = sections.at(deeper < 1 ? 0 : deeper - 1);
  const own = sections.find(({ title }) => /^status$/i.test(title));
  // Right behind a bullet it is a part of that to Markdown, right above a rule a heading, and to a person a line of its own.
  const nodes = root.children.slice(0, (last?.ownEnd ?? 0) + 1).filter(({ type }) => PLACES.has(type));
  for (const node of nodes) {
    const found = STATUS.exec(source.slice(startOf(node), endOf(node)));
    if (found === null) continue;
    const [whole, , gap = "", word = ""] = found;
    const end = startOf(node) + found.index + whole.length;
    const done = word === "" && gap === "" ? " review" : "review";
    return { status: { type: "word", start: end - word.length, end, done, says: markOf(word) }, word };
  }
  const [under] = own === undefined ? [] : root.children.slice(own.from, own.ownEnd);
  const word = under?.type === "paragraph" ? (/^[\w-]+/.exec(textOf(under))?.[0] ?? "") : "";
  if (under === undefined || word === "") return { status: undefined, word: "" };
  const start = startOf(under);
  return { status: { type: "word", start, end: start + word.length, done: "review", says: markOf(word) }, word };
}

interface Part {
  id: string;
  /** Which criteria it is for: `(AC: 1, 2)`. */
  serves: string[];
}

/** `Task 1: …`, `1.1 …`, `2. …`: a number alone belongs to the words behind it. */
const NAMED =
  /^\**(?:task\s+(\d+(?:\.\d+)*[a-z]?)\s*[:.)—–-]?|(\d+(?:\.\d+)+[a-z]?)[:.)]?|(\d+)[:.)](?=\s))\**\s*[:—–-]?\s*(.*)$/i;

function namedIn(text: string): { id: string | undefined; title: string } {
  const [, task, dotted, plain, title = text] = NAMED.exec(text) ?? [];
  return { id: task ?? dotted ?? plain, title };
}
const SERVES = /\(\s*AC\s*:?\s*#?([^)]*)\)/i;

/** Boxes under `## Tasks / Subtasks`: what has others below it is done when they are. */
function tasksIn(document: Document): {
  leaves: { task: Task; box: Box }[];
  parents: { at: number; tasks: string[] }[];
  parts: Part[];
} {
  const { file, source, sections } = document;
  let until = 0;
  const nodes: RootContent[] = sections.filter(isTasks).flatMap((section) => {
    if (section.from <= until) return [];
    until = section.end;
    return contentOf(document, section);
  });
  const leaves: { task: Task; box: Box; under: number }[] = [];
  const outer: { box: Box; id: string }[] = [];
  for (const box of boxesIn(nodes, source)) {
    const under = outer.push({ box, id: idOf(box, String(outer.length + 1)) }) - 1;
    const inner = leavesOf(box);
    for (const [n, leaf] of inner.entries()) {
      const alone = leaf === box;
      const id = alone ? (outer[under]?.id ?? "") : idOf(leaf, `${outer[under]?.id}.${n + 1}`);
      const title = namedIn(leaf.text).title || leaf.text || "(no text)";
      leaves.push({ task: { id, title, ticked: isTicked(leaf), file, line: leaf.line }, box: leaf, under });
    }
  }
  const own = withOwnIds(leaves);
  return {
    leaves: own,
    parents: outer.flatMap(({ box }, n) => {
      const tasks = own.filter(({ under }) => under === n).map(({ task }) => task.id);
      return box.inner.length === 0 ? [] : [box, ...middlesOf(box)].map(({ at }) => ({ at, tasks }));
    }),
    parts: outer.map(({ box, id }) => ({
      id,
      serves: (SERVES.exec(box.text)?.[1] ?? "").match(/\d+[a-z]?/gi) ?? [],
    })),
  };
}

const idOf = ({ text }: Box, otherwise: string): string => namedIn(text).id ?? otherwise;

const leavesOf = (box: Box): Box[] => (box.inner.length === 0 ? [box] : box.inner.flatMap(leavesOf));

/** Boxes between the outermost and the innermost ones. */
const middlesOf = (box: Box): Box[] =>
  box.inner.flatMap((inner) => (inner.inner.length === 0 ? [] : [inner, ...middlesOf(inner)]));

/** Numbered criteria, each with the tasks that are for it. */
function criteriaIn(document: Document, parts: readonly Part[]): string[] {
  const section = document.sections.find(({ title }) => /^acceptance criteria\b/i.test(title));
  if (section === undefined) return [];
  const found = [...itemsOf(contentOf(document, section))].flatMap((item) => {
    const paragraph = itemParagraph(item);
    const text = paragraph === undefined ? "" : textOf(paragraph).replaceAll(/\s+/g, " ").trim();
    return text === "" ? [] : [text];
  });
  const labelled = contentOf(document, section).flatMap((node) => {
    const text = node.type === "paragraph" ? textOf(node).replaceAll(/\s+/g, " ").trim() : "";
    return /^AC\s*#?\d+\b/i.test(text) ? [text] : [];
  });
  return (found.length > 0 ? found : labelled).map((text, n) => {
    const number = /^(?:AC\s*#?)?(\d+[a-z]?)[:.)]/i.exec(text)?.[1] ?? String(n + 1);
    const tasks = parts.filter(({ serves }) => serves.includes(number)).map(({ id }) => id);
    const whose = tasks.length === 0 ? "" : ` (${tasks.length === 1 ? "task" : "tasks"} ${tasks.join(", ")})`;
    return `AC ${number}${whose}: ${text.replace(/^(?:AC\s*#?)?\d+[a-z]?[:.)]\s*/i, "")}`;
  });
}

const GATES = /^(quality gates?|verification)\b/i;
const NOT_RUN = /\bexpected\s*:?\s*\**\s*(fail|error|non-?zero)/i;
/** What nobody means as a check, whatever it stands under. */
const HARMS =
  /\b(push|publish|deploy|release|rm|reset|clean|drop|destroy|apply|kubectl|terraform|curl|wget|ssh|sudo)\b/;

/** Commands under `## Quality Gates` and `## Verification` are gates; what has none is for whoever judges. */
function gatesIn(document: Document): { gates: Gate[]; boxes: number[]; criteria: string[] } {
  const { file, source } = document;
  const gates: Gate[] = [];
  const boxes: number[] = [];
  const criteria: string[] = [];
  const gateOf = (command: string, line: number): Gate => ({
    id: `g${gates.length + 1}`,
    name: command.slice(0, 80),
    check: { type: "command", command },
    file,
    line,
  });
  for (const section of document.sections.filter(({ title }) => GATES.test(title))) {
    const nodes = contentOf(document, section);
    const marks = new Map(boxesIn(nodes, source).map((box) => [box.item, box.at]));
    for (const node of nodes)
      if (node.type === "code" && /^(sh|bash|shell|console|zsh)?$/.test(node.lang ?? "sh"))
        for (const [n, line] of node.value.split("\n").entries()) {
          const command = line.replace(/^\s*\$\s+/, "").trim();
          if (command !== "" && !command.startsWith("#") && isCommand(command))
            gates.push(gateOf(command, lineOf(node) + 1 + n));
        }
    for (const item of itemsOf(nodes)) {
      const paragraph = itemParagraph(item);
      if (paragraph === undefined) continue;
      const text = textOf(paragraph).replaceAll(/\s+/g, " ").trim();
      const command = leadingCommand(text, codesOf(paragraph.children));
      if (command === undefined) criteria.push(text.replace(/^\[[^\]]?\]\s*/, ""));
      else if (!NOT_RUN.test(text)) {
        const line = lineOf(item);
        gates.push(gateOf(command, line));
        const at = marks.get(item);
        if (at !== undefined) boxes.push(at);
      }
    }
  }
  return { gates, boxes, criteria: criteria.filter((text) => text !== "") };
}

/** Words that can be run, and are not only a file's name, a route or a class. */
const isCommand = (code: string): boolean =>
  (/^(\.\/)?[a-z][\w./-]*\s+\S/.test(code) || /^(make|pytest|tox|nox|just)$/.test(code)) && !HARMS.test(code);

/** A command that the item begins with, or that a few words and a colon announce: one that is only mentioned is none. */
function leadingCommand(text: string, codes: readonly string[]): string | undefined {
  const [first] = codes;
  if (first === undefined || !isCommand(first)) return undefined;
  const before = text.slice(0, text.indexOf(first)).replace(/^\[[^\]]?\]\s*/, "");
  const announces =
    /^(?:(?:run|command|check|verify|tests?|lint|build|types?(?:check)?)\b[\w ]{0,20}|[\w ,'-]{1,60}:)?\s*$/i;
  return announces.test(before) ? first : undefined;
}

function wordsUnder(document: Document, title: RegExp): string {
  const section = document.sections.find((candidate) => title.test(candidate.title));
  return section === undefined
    ? ""
    : contentOf(document, section)
        .flatMap((node) => (node.type === "paragraph" ? [textOf(node).replaceAll(/\s+/g, " ").trim()] : []))
        .join(" ");
}
