/**
 * Task Master's `tasks.json`: tasks are phases, subtasks their tasks. Only the words of statuses are written back, so that
 * its own tool sees them; everything else in the file stays as it is.
 */
import { isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from "yaml";
import type { Document } from "../document.js";
import { type Draft, emptyPhase, type FormRead } from "../draft.js";
import { besideOf, type Form } from "../form.js";
import { lineAt } from "../line-at.js";
import type { WordSite } from "../mark-sites.js";
import type { Diagnostic, PlanOptions, ReadPlanFile, Task } from "../model.js";

export const TASK_MASTER: Form = {
  name: "task-master",
  looksFor: "Task Master's tasks.json: tasks with id, title, status and dependencies",
  fits: ({ file, source }) => file.endsWith(".json") && tagsIn(source).size > 0,
  read: readTaskMaster,
  // Ids are the same in every tag: the plan says which one it is of.
  sites: (document, plan, phase) =>
    readTaskMaster(document, () => undefined, { tag: TITLE.exec(plan.title)?.[1] })
      .drafts.filter((draft) => draft.phase.id === phase)
      .map(({ sites }) => sites),
};

const TITLE = /^Task Master: (.+)$/;

/** Somebody's word that there is nothing more to do. */
const DONE = new Set(["done", "completed", "review"]);
const LEFT = new Set(["cancelled", "deferred"]);

interface Entry {
  id: string;
  title: string;
  status: string;
  /** Where its status stands, with the quotes. */
  site: WordSite | undefined;
  line: number;
  dependencies: string[];
  texts: Record<"description" | "details" | "testStrategy" | "priority", string>;
  subtasks: Entry[];
}

/** Lists of tasks by tag; the old form has one list, and no tag. */
function tagsIn(source: string): Map<string, YAMLMap[]> {
  const tags = new Map<string, YAMLMap[]>();
  const { contents, errors } = parseDocument(source, { prettyErrors: false });
  if (errors.length > 0 || !isMap(contents)) return tags;
  const take = (tag: string, node: unknown): void => {
    if (isSeq(node))
      tags.set(
        tag,
        node.items.filter((item): item is YAMLMap => isMap(item) && item.has("id")),
      );
  };
  take("", contents.get("tasks", true));
  for (const { key, value } of contents.items) if (isMap(value)) take(String(key), value.get("tasks", true));
  return new Map([...tags].filter(([, tasks]) => tasks.length > 0));
}

function readTaskMaster(document: Document, read: ReadPlanFile, { tag }: PlanOptions): FormRead {
  const { file, source } = document;
  const tags = tagsIn(source);
  const wanted = tag ?? currentTag(document, read);
  const chosen = tags.has(wanted) ? wanted : ([...tags.keys()][0] ?? "");
  const lines = lineAt(source);
  const entries = (tags.get(chosen) ?? []).map((map) => entryOf(map, lines, ""));
  const diagnostics: Diagnostic[] = [];
  const at = (line: number, message: string, fix: string): void =>
    void diagnostics.push({ severity: "warning", file, line, message, fix });
  if (tag === undefined && !tags.has(wanted) && wanted !== "master")
    at(
      1,
      `Its current tag is "${wanted}", and the file has none of that name: "${chosen}" is read.`,
      `Name one: --tag ${chosen}`,
    );
  if (tag !== undefined && !tags.has(tag)) {
    const fix = `Its tags: ${[...tags.keys()].map((name) => name || "(none)").join(", ")}.`;
    diagnostics.push({
      severity: "error",
      file,
      line: 1,
      message: `There is no list of tasks with the tag ${tag}.`,
      fix,
    });
  }
  const open = entries.filter(({ status }) => !LEFT.has(status));
  for (const { id, status, line } of entries.filter((entry) => LEFT.has(entry.status)))
    at(
      line,
      `Task ${id} is ${status}: it is left out, and nobody waits for it.`,
      "Set it to pending, if it is to be done.",
    );
  for (const { id, line } of open.filter(({ status }) => status === "blocked"))
    at(
      line,
      `Task ${id} is blocked: it is begun when its dependencies are done.`,
      "Say what it waits for as a dependency.",
    );
  const known = new Set(open.map(({ id }) => id));
  const drafts = open.map((entry) => draftOf(entry, file, known));
  const title = chosen === "" || chosen === "master" ? "Task Master" : `Task Master: ${chosen}`;
  return { title, goal: "", drafts, diagnostics };
}

/** What its own tool says is current. */
function currentTag(document: Document, read: ReadPlanFile): string {
  const state = besideOf(document, read, "../state.json") ?? read(".taskmaster/state.json");
  const named = typeof state === "string" ? /"currentTag"\s*:\s*"([^"]+)"/.exec(state)?.[1] : undefined;
  return named ?? "master";
}

const textAt = (map: YAMLMap, key: string): string => {
  const value = map.get(key);
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
};

function entryOf(map: YAMLMap, lineOf: (offset: number) => number, parent: string): Entry {
  const own = textAt(map, "id");
  const id = parent === "" || own.startsWith(`${parent}.`) ? own : `${parent}.${own}`;
  const status = map.get("status", true) as Node | undefined;
  const range = isScalar(status) ? status.range : undefined;
  const dependencies = map.get("dependencies", true);
  const subtasks = map.get("subtasks", true);
  return {
    id,
    title: textAt(map, "title") || `Task ${id}`,
    status: textAt(map, "status").toLowerCase() || "pending",
    site:
      range === undefined || range === null
        ? undefined
        : {
            type: "word",
            start: range[0],
            end: range[1],
            done: '"done"',
            says: DONE.has(textAt(map, "status").toLowerCase()) ? "done" : undefined,
          },
    line: lineOf(map.range?.[0] ?? 0),
    dependencies: isSeq(dependencies)
      ? dependencies.items.map((item) => String(isScalar(item) ? item.value : item))
      : [],
    texts: {
      description: textAt(map, "description"),
      details: textAt(map, "details"),
      testStrategy: textAt(map, "testStrategy"),
      priority: textAt(map, "priority"),
    },
    subtasks: isSeq(subtasks) ? subtasks.items.flatMap((item) => (isMap(item) ? [entryOf(item, lineOf, id)] : [])) : [],
  };
}

function draftOf(entry: Entry, file: string, known: ReadonlySet<string>): Draft {
  const { id, title, line, status, site, texts, subtasks } = entry;
  const own = subtasks.length === 0 ? [entry] : subtasks.filter((sub) => !LEFT.has(sub.status));
  const tasks = own.map(
    (task): Task => ({ id: task.id, title: task.title, ticked: DONE.has(task.status), file, line: task.line }),
  );
  const words = new Map(own.flatMap((task) => (task.site === undefined ? [] : [[task.id, task.site] as const])));
  const parentOf = (name: string): string => name.split(".")[0] ?? name;
  const waits = [
    ...entry.dependencies,
    ...subtasks.flatMap((sub) => sub.dependencies.filter((name) => name.includes("."))),
  ];
  return {
    phase: {
      ...emptyPhase(file, line, id, title, textOf(entry)),
      dependsOn: [...new Set(waits.map(parentOf))].filter((other) => other !== id && known.has(other)),
      tasks,
      mark: DONE.has(status) ? "done" : undefined,
      criteria: [texts.testStrategy, ...subtasks.map((sub) => sub.texts.testStrategy)].filter((text) => text !== ""),
    },
    sites: { status: site, boxes: new Map(), words },
  };
}

/** What the agent gets to read: all that the task says. */
function textOf({ id, title, texts, subtasks }: Entry): string {
  const said = (entry: Entry): string[] =>
    [entry.texts.description, entry.texts.details]
      .filter((text) => text !== "")
      .map((text) => text.replaceAll("\r", ""));
  const list = (subtasks.length === 0 ? [] : subtasks).flatMap((sub) => [
    `- [ ] ${sub.id} ${sub.title}`,
    ...said(sub).flatMap((text) => text.split("\n").map((line) => `  ${line}`)),
  ]);
  const alone = subtasks.length === 0 ? [`- [ ] ${id} ${title}`] : [];
  const strategy = texts.testStrategy === "" ? [] : [`**Test strategy:** ${texts.testStrategy}`];
  return [...said({ id, title, texts, subtasks } as Entry), ...strategy, [...alone, ...list].join("\n")].join("\n\n");
}
