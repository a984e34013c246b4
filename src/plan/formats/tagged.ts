/** Tagged tasks: `<task id="16-01" type="auto" complexity="complex"> … </task>`, each a phase, in document order. */
import type { Html, RootContent } from "mdast";
import { readCheckboxes } from "../checkboxes.js";
import { readDependencies } from "../depends.js";
import { type Document, goalOf, titleOf } from "../document.js";
import { type Draft, emptyPhase, type FormRead, inOrder } from "../draft.js";
import { DEPENDS, fieldsOf, findField } from "../fields.js";
import type { Form } from "../form.js";
import { readCriterionGates, testGate } from "../gates.js";
import type { StatusSite } from "../mark-sites.js";
import { descendantsOf, endOf, itemsOf, lineOf, startOf, textOf } from "../markdown.js";
import type { Gate, Phase, PlanOptions } from "../model.js";
import { markOf } from "../statuses.js";
import { filesIn, itemTexts } from "./phase-file.js";

const OPEN = /^<task\b((?:\s+[\w-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*\/?>/i;
const ATTRIBUTE = /([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const HUMAN = /human|manual|checkpoint/i;

interface Tagged {
  tag: Html;
  attributes: Map<string, { value: string; start: number; end: number }>;
  /** Where one more attribute would be added. */
  at: number;
  /** What stands between the tags. */
  content: RootContent[];
  end: number;
}

export const TAGGED: Form = {
  name: "tagged",
  looksFor: 'tags like `<task id="1">`',
  fits: ({ root }) => root.children.some((node) => node.type === "html" && OPEN.test(node.value)),
  read: (document, _, options) => readTagged(document, options),
};

function readTagged(document: Document, options: PlanOptions): FormRead {
  const { file, source } = document;
  const found = taggedIn(document);
  const known = found.map(({ attributes }, index) => attributes.get("id")?.value ?? String(index + 1));
  let anyDepends = false;
  const drafts = found.map((task, index): Draft => {
    const id = known[index] as string;
    const phase = readPhase(document, task, id, options);
    const depends =
      task.attributes.get("depends") ??
      task.attributes.get("depends_on") ??
      findField(fieldsOf(task.content, source), DEPENDS);
    if (depends !== undefined) {
      anyDepends = true;
      phase.dependsOn = readDependencies(
        { value: depends.value, links: [] },
        { known, self: id, idOfLink: () => undefined },
      );
    }
    const boxes = readCheckboxes(document, task.content, id);
    phase.tasks = boxes.map((box) => box.task);
    return {
      phase,
      sites: { status: statusSite(task), boxes: new Map(boxes.map(({ task: own, at }) => [own.id, at])) },
    };
  });
  if (!anyDepends) inOrder(drafts);
  return { title: titleOf(document), goal: goalOf(document), drafts, diagnostics: taggedDiagnostics(found, file) };
}

function taggedIn({ root }: Document): Tagged[] {
  const found: Tagged[] = [];
  let current: Tagged | undefined;
  for (const node of root.children) {
    const open = node.type === "html" ? OPEN.exec(node.value) : null;
    if (node.type === "html" && open !== null) {
      const given = open[1] ?? "";
      const at = startOf(node) + "<task".length + given.length;
      current = { tag: node, attributes: attributesOf(node, given), at, content: [], end: endOf(node) };
      found.push(current);
    } else if (current !== undefined) {
      current.content.push(node);
      current.end = endOf(node);
    }
    if (current !== undefined && closes(node)) current = undefined;
  }
  return found;
}

const closes = (node: RootContent): boolean =>
  [...descendantsOf([node])].some((inner) => inner.type === "html" && /<\/task>/i.test(inner.value));

function attributesOf(tag: Html, text: string): Tagged["attributes"] {
  const offset = startOf(tag) + "<task".length;
  return new Map(
    [...text.matchAll(ATTRIBUTE)].map((match) => {
      const start = offset + match.index;
      return [
        (match[1] as string).toLowerCase(),
        { value: match[2] ?? match[3] ?? "", start, end: start + match[0].length },
      ];
    }),
  );
}

function readPhase(
  { file, source }: Document,
  { tag, attributes, content, end }: Tagged,
  id: string,
  { testCommand }: PlanOptions,
): Phase {
  const line = lineOf(tag);
  // Without a blank line after the tag the heading is part of the same HTML block.
  const heading =
    /^#{1,6}\s+(.+)$/m.exec(tag.value)?.[1] ??
    content.flatMap((node) => (node.type === "heading" ? [textOf(node)] : []))[0] ??
    id;
  const title = heading.replace(/^task\s+[\w.-]+\s*[:—–-]\s*/i, "").trim();
  const parts = partsOf(content);
  const criteria = parts.get("acceptance criteria") ?? [];
  const gates: Gate[] = readCriterionGates(itemsOf(criteria), file);
  if (testCommand !== undefined) gates.push(testGate(testCommand, file, line));
  const type = attributes.get("type")?.value ?? "auto";
  if (HUMAN.test(type))
    gates.push({ id: "human", name: `a person looks at it (type ${type})`, check: { type: "manual" }, file, line });
  const complexity = attributes.get("complexity")?.value.toLowerCase();
  return {
    ...emptyPhase(file, line, id, title, source.slice(startOf(tag), end)),
    gates: gates.map((gate, index) => ({ ...gate, id: `g${index + 1}` })),
    mark: markOf(attributes.get("status")?.value ?? ""),
    complexity: complexity === "simple" || complexity === "medium" || complexity === "complex" ? complexity : undefined,
    files: filesIn(parts.get("files") ?? []),
    criteria: itemTexts(criteria),
  };
}

/** `**Files:**` and the like begin a part; it goes on until the next. */
function partsOf(content: readonly RootContent[]): Map<string, RootContent[]> {
  const parts = new Map<string, RootContent[]>();
  let current: RootContent[] | undefined;
  for (const node of content) {
    const label =
      node.type === "paragraph" && node.children[0]?.type === "strong"
        ? textOf(node.children[0])
        : node.type === "heading"
          ? textOf(node)
          : undefined;
    if (label !== undefined) {
      current = [];
      parts.set(label.replace(/:\s*$/, "").trim().toLowerCase(), current);
    } else current?.push(node);
  }
  return parts;
}

function statusSite({ attributes, at }: Tagged): StatusSite {
  const existing = attributes.get("status");
  return {
    type: "attribute",
    at,
    existing: existing === undefined ? undefined : { start: existing.start, end: existing.end },
  };
}

const taggedDiagnostics = (found: readonly Tagged[], file: string): FormRead["diagnostics"] =>
  found.flatMap(({ tag, attributes }) =>
    attributes.has("id")
      ? []
      : [
          {
            severity: "warning",
            file,
            line: lineOf(tag),
            message: "A <task> has no id: it is numbered by its place.",
            fix: 'Give it one: <task id="1">',
          },
        ],
  );
